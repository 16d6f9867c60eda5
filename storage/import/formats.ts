/** The market-data formats that `fathom import` reads (data.md section 1), and their flags. */

export const IMPORT_FORMATS = [
  'tardis-incremental-l2',
  'tardis-book-snapshot',
  'binance-stream',
  'clmm-pools',
  'dlmm-bins',
  'cp-pairs',
  'solana-token-list',
  'wormhole-csv',
] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** Names of the flags, without their dashes. */
export const IMPORT_FLAGS = [
  'token',
  'source',
  'pair',
  'type',
  'quote-usd',
  'every',
  'at',
  'contract-usd',
] as const;
export type ImportFlag = (typeof IMPORT_FLAGS)[number];

/**
 * book: messages of one order book, sampled at moments. pools: states of pools, one snapshot for
 * those that share a time. tokens: lists of tokens.
 */
export type ImportKind = 'book' | 'pools' | 'tokens';

export interface ImportFormatSpec {
  kind: ImportKind;
  /** The dataset whose rows the format yields. */
  dataset: 'snapshots' | 'tokens';
  needs: readonly ImportFlag[];
  /** Besides what it needs. */
  accepts: readonly ImportFlag[];
}

const BOOK: ImportFormatSpec = {
  kind: 'book',
  dataset: 'snapshots',
  needs: ['token'],
  accepts: ['source', 'pair', 'type', 'quote-usd', 'every', 'contract-usd'],
};
const POOLS: ImportFormatSpec = {
  kind: 'pools',
  dataset: 'snapshots',
  needs: ['token'],
  accepts: ['source', 'quote-usd', 'at'],
};
const TOKENS: ImportFormatSpec = { kind: 'tokens', dataset: 'tokens', needs: [], accepts: [] };

export const IMPORT_FORMAT_SPECS: Readonly<Record<ImportFormat, ImportFormatSpec>> = {
  'tardis-incremental-l2': BOOK,
  'tardis-book-snapshot': BOOK,
  'binance-stream': BOOK,
  'clmm-pools': POOLS,
  'dlmm-bins': POOLS,
  'cp-pairs': POOLS,
  'solana-token-list': TOKENS,
  'wormhole-csv': TOKENS,
};

/** Whether a word of the command line names a format. */
export function isImportFormat(word: string): word is ImportFormat {
  return (IMPORT_FORMATS as readonly string[]).includes(word);
}
