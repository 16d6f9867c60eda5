/** `fathom tokens [QUERY]` */
import { quoted } from '../../../client/errors.js';
import { fathomClient, type FoundToken } from '../../../client/index.js';
import { type Chain, CHAINS } from '../../../compute/market.js';
import { isoOf } from '../../../compute/time.js';
import { UsageError } from '../../../storage/errors.js';
import { systemClock } from '../../clock.js';
import { csvField } from '../../download/formats.js';
import { DEFAULT_URL, interruptible, keyOf, namedFailure, URL_FLAG } from '../api-client.js';
import { defineCommand } from '../command.js';
import { DATA, type Flags, type FlagValues, JSON_OUTPUT, wholeNumber } from '../flags.js';
import { printJson, printLine, printNote, tableLines } from '../output.js';
import { onStore } from '../runtime.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;
/** The longest page of GET /tokens. */
const PAGE_TOKENS = 100;
/** The longest texts in the table, which has 80 columns. */
const SYMBOL_CHARS = 12;
const NAME_CHARS = 24;

const FLAGS = {
  chain: { placeholder: 'CHAIN', meaning: 'only tokens of this chain', values: CHAINS },
  limit: {
    placeholder: 'N',
    meaning: `the most tokens to list, up to ${MAX_LIMIT}`,
    default: String(DEFAULT_LIMIT),
    read: (text: string, from: string) => wholeNumber(text, from, 1, MAX_LIMIT),
  },
  url: URL_FLAG,
  data: {
    placeholder: 'DIR',
    meaning: 'data directory whose tokens to list, instead of those of a server',
    names: DATA.names,
  },
  csv: { meaning: 'prints CSV on stdout' },
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Lists tokens whose symbol, name or address begins with QUERY in any case, or all: those with this symbol first, then by score. It asks a running server, or reads a data directory, which says only whether a token has a score.',
  words: { query: { optional: true } },
  flags: FLAGS,
  environment: { FATHOM_KEY: 'the API key; no flag takes it' },
  examples: ['fathom tokens sol', 'fathom tokens --chain evmchain --limit 100 --data data --csv'],
  run: (flags, { query = '' }) => list(query, flags),
});

/** A token as listed, with the names that GET /tokens gives its fields. */
type ListedToken = Pick<
  FoundToken,
  'chain' | 'address' | 'symbol' | 'name' | 'price_usd' | 'first_snapshot_at' | 'last_snapshot_at'
> & {
  scored: boolean;
  /** Of a server. */
  service_score?: number | null;
  stale?: boolean;
};

const CSV_COLUMNS = [
  'chain',
  'address',
  'symbol',
  'name',
  'scored',
  'service_score',
  'price_usd',
  'first_snapshot_at',
  'last_snapshot_at',
] as const satisfies readonly (keyof ListedToken)[];

async function list(query: string, flags: FlagValues<typeof FLAGS>): Promise<void> {
  const { data, url, csv, json, chain = null, limit = DEFAULT_LIMIT } = flags;
  if (csv && json) throw new UsageError('--csv: cannot be combined with --json');
  const search = { query, chain, limit: limit + 1 };
  const found = await (data === undefined ? served(search, url) : stored(search, data));
  const tokens = found.slice(0, limit);
  if (json) printJson(tokens);
  else if (csv) printCsv(tokens);
  else printRows(tokens);
  if (tokens.length === 0) printNote('no token begins with this text');
  else if (found.length > limit) printNote('there are more: see --limit');
}

interface Search {
  query: string;
  chain: Chain | null;
  limit: number;
}

function served({ query, chain, limit }: Search, url = DEFAULT_URL): Promise<ListedToken[]> {
  const client = fathomClient({ url, key: keyOf(), onWait: ({ message }) => printNote(message) });
  return interruptible(async (signal) => {
    const listed: ListedToken[] = [];
    let cursor: string | null = null;
    try {
      do {
        const reply: Awaited<ReturnType<typeof client.getTokens>> = await client.getTokens(
          {
            chain: chain ?? 'all',
            limit: Math.min(limit - listed.length, PAGE_TOKENS),
            ...(query === '' ? {} : { query }),
            ...(cursor === null ? {} : { cursor }),
          },
          { signal },
        );
        for (const token of reply.tokens) {
          listed.push({ ...token, scored: token.service_score !== null });
        }
        cursor = reply.next_cursor;
      } while (cursor !== null && listed.length < limit);
    } catch (error) {
      throw signal.aborted ? (signal.reason as Error) : namedFailure(error);
    }
    return listed;
  });
}

async function stored(search: Search, data: string): Promise<ListedToken[]> {
  const nowS = systemClock.nowS();
  const found = await onStore({ data }, (store) => store.searchTokens({ ...search, nowS }));
  return found.map(({ isScored, priceUsd, firstT, lastT, ...token }) => ({
    ...token,
    scored: isScored,
    price_usd: priceUsd,
    first_snapshot_at: firstT,
    last_snapshot_at: lastT,
  }));
}

function printCsv(tokens: readonly ListedToken[]): void {
  printLine(CSV_COLUMNS.join(','));
  for (const token of tokens) {
    const values = CSV_COLUMNS.map((name) => token[name] ?? null);
    const texts = values.map((value) => (value === null ? null : withoutControls(String(value))));
    printLine(texts.map(csvField).join(','));
  }
}

/** Two lines a token, so that its whole address fits. */
function printRows(tokens: readonly ListedToken[]): void {
  if (tokens.length === 0) return;
  const [head, ...lines] = tableLines([
    ['SYMBOL', 'CHAIN', 'SCORE', 'PRICE, USD', 'HISTORY'],
    ...tokens.map((token) => {
      const { symbol, chain, first_snapshot_at: firstT, last_snapshot_at: lastT } = token;
      const history = firstT === null || lastT === null ? '-' : `${day(firstT)} to ${day(lastT)}`;
      const shown = shortened(symbol ?? '-', SYMBOL_CHARS);
      return [shown, chain, scoreText(token), priceText(token), history].map((text) =>
        quoted(text),
      );
    }),
  ]);
  printLine(head);
  for (const [i, { address, name }] of tokens.entries()) {
    printLine(lines[i]);
    printLine(`  ${quoted(address)}  ${shortened(name ?? '', NAME_CHARS)}`.trimEnd());
  }
}

const day = (t: number): string => isoOf(t).slice(0, 10);

/** What a token's issuer has chosen cannot command the terminal. */
const withoutControls = (text: string): string =>
  text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');

/** At most `length` characters, none of them a control character. */
function shortened(text: string, length: number): string {
  const chars = [...withoutControls(text)];
  return chars.length <= length ? chars.join('') : `${chars.slice(0, length - 1).join('')}…`;
}

function scoreText({ scored, service_score: score, stale }: ListedToken): string {
  if (!scored) return '-';
  return typeof score === 'number' ? `${score.toFixed(1)}${stale ? ' stale' : ''}` : 'scored';
}

function priceText({ price_usd: priceUsd }: ListedToken): string {
  if (priceUsd === null) return '-';
  return priceUsd.toLocaleString('en-US', { maximumSignificantDigits: 5 });
}
