/** The text columns of flat cells as runs: stretches of rows in which none of them changes. */
import { TextCoder, textColumn, type TextColumn } from './text-column.js';

/** Text columns of the dataset `cells`, in its order. */
export const CELL_TEXTS = [
  'chain',
  'address',
  'tier',
  'source',
  'exchange_type',
  'type',
  'market_address',
  'pair',
] as const;
export type CellText = (typeof CELL_TEXTS)[number];

/** A text column: coded, or a list of values. */
export type TextValues = TextColumn | readonly unknown[];

/** Run `i` begins at row `starts[i]`, the first one at 0; columns have an entry a run. */
export interface TextRuns {
  starts: Uint32Array;
  texts: Readonly<Record<CellText, TextColumn>>;
}

/** The runs of text columns that have an entry a row. */
export function textRuns(columns: Readonly<Record<CellText, TextValues>>, rows: number): TextRuns {
  const coded = CELL_TEXTS.map((name) => {
    const column = columns[name];
    return 'codes' in column ? column : textColumn(column);
  });
  const starts = new Uint32Array(rows);
  let runs = 0;
  const changed = new Uint8Array(rows).fill(1, 0, 1);
  for (const { codes } of coded) {
    for (let row = 1; row < rows; row++) if (codes[row] !== codes[row - 1]) changed[row] = 1;
  }
  for (let row = 0; row < rows; row++) if (changed[row] === 1) starts[runs++] = row;
  const own = starts.slice(0, runs);
  const texts = coded.map(({ codes, values }, i) => [
    CELL_TEXTS[i],
    { codes: own.map((row) => codes[row]), values },
  ]);
  return { starts: own, texts: Object.fromEntries(texts) as TextRuns['texts'] };
}

/** The runs of rows as objects, whose fields are the columns. */
export function textRunsOfRows(rows: readonly Readonly<Record<string, unknown>>[]): TextRuns {
  const starts = new Uint32Array(rows.length);
  const coders = CELL_TEXTS.map(() => new TextCoder());
  const codes = CELL_TEXTS.map(() => new Uint32Array(rows.length));
  let runs = 0;
  for (let row = 0; row < rows.length; row++) {
    if (row > 0 && hasSameTexts(rows[row], rows[row - 1])) continue;
    CELL_TEXTS.forEach((name, i) => (codes[i][runs] = coders[i].code(rows[row][name])));
    starts[runs++] = row;
  }
  const texts = CELL_TEXTS.map((name, i) => [
    name,
    { codes: codes[i].slice(0, runs), values: coders[i].values },
  ]);
  return { starts: starts.slice(0, runs), texts: Object.fromEntries(texts) as TextRuns['texts'] };
}

type Texts = Readonly<Record<string, unknown>>;

function hasSameTexts(a: Texts, b: Texts): boolean {
  return (
    a.address === b.address &&
    a.source === b.source &&
    a.market_address === b.market_address &&
    a.pair === b.pair &&
    a.chain === b.chain &&
    a.tier === b.tier &&
    a.exchange_type === b.exchange_type &&
    a.type === b.type
  );
}
