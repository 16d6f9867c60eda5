/** Texts of files that stand for numbers and for words of a dataset. */

/** A number that is written out. */
export const NUMBER_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

export const DECIMAL_MARKS = ['.', ','] as const;
/** What stands before a number's fraction. The other mark, a space or an apostrophe separates thousands. */
export type DecimalMark = (typeof DECIMAL_MARKS)[number];

const GROUPED: Readonly<Record<DecimalMark, RegExp>> = {
  '.': /^[+-]?\d{1,3}([,'\s]\d{3})+(\.\d*)?$/,
  ',': /^[+-]?\d{1,3}([.'\s]\d{3})+(,\d*)?$/,
};
const SEPARATORS: Readonly<Record<DecimalMark, RegExp>> = { '.': /[,'\s]/g, ',': /[.'\s]/g };

/** Words of files for words of datasets. */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  bid: ['b', 'bids', 'buy'],
  ask: ['a', 'asks', 's', 'sell'],
};

/** Whether a text is a number that is written out. */
export const isNumberText = (value: unknown): boolean =>
  typeof value === 'string' && NUMBER_TEXT.test(value.trim());

/** The number of a text, where `mark` stands before its fraction; null: it is none. */
export function numberOfText(text: string, mark: DecimalMark): number | null {
  const trimmed = text.trim();
  const whole = GROUPED[mark].test(trimmed) ? trimmed.replace(SEPARATORS[mark], '') : trimmed;
  // A point that separates no thousands is none of a number with a decimal comma.
  if (mark === ',' && whole.includes('.')) return null;
  const plain = mark === ',' ? whole.replace(',', '.') : whole;
  return NUMBER_TEXT.test(plain) ? Number(plain) : null;
}

/** The value of a field that a text stands for, whatever its case; null: none, or the text is it. */
export function wordFor(text: string, values: readonly string[]): string | null {
  if (values.includes(text)) return null;
  const word = text.trim().toLowerCase();
  const found = values.find(
    (value) => value.toLowerCase() === word || OTHER_WORDS[value]?.includes(word),
  );
  return found ?? null;
}
