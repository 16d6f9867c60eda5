/** Texts of files that stand for numbers and for words of a dataset. */

export const NUMBER_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

export const DECIMAL_MARKS = ['.', ','] as const;
/** The mark before a number's fraction. The other mark, a space or an apostrophe may separate thousands. */
export type DecimalMark = (typeof DECIMAL_MARKS)[number];

const GROUPED: Readonly<Record<DecimalMark, RegExp>> = {
  '.': /^[+-]?\d{1,3}([,'\s]\d{3})+(\.\d*)?$/,
  ',': /^[+-]?\d{1,3}([.'\s]\d{3})+(,\d*)?$/,
};
const SEPARATORS: Readonly<Record<DecimalMark, RegExp>> = { '.': /[,'\s]/g, ',': /[.'\s]/g };

/** What files have in place of a dataset's words. */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  bid: ['b', 'bids', 'buy'],
  ask: ['a', 'asks', 's', 'sell'],
};

/** Whether a value is the text of a number. */
export const isNumberText = (value: unknown): boolean =>
  typeof value === 'string' && NUMBER_TEXT.test(value.trim());

/** The number that a text states, with `mark` before its fraction; null if it states none. */
export function numberOfText(text: string, mark: DecimalMark): number | null {
  const trimmed = text.trim();
  const whole = GROUPED[mark].test(trimmed) ? trimmed.replace(SEPARATORS[mark], '') : trimmed;
  // In a number with a decimal comma, a point can only separate thousands.
  if (mark === ',' && whole.includes('.')) return null;
  const plain = mark === ',' ? whole.replace(',', '.') : whole;
  return NUMBER_TEXT.test(plain) ? Number(plain) : null;
}

/** The field's value that a text stands for, in any case; null if there is none, or the text is a value itself. */
export function wordFor(text: string, values: readonly string[]): string | null {
  if (values.includes(text)) return null;
  const word = text.trim().toLowerCase();
  const found = values.find(
    (value) => value.toLowerCase() === word || OTHER_WORDS[value]?.includes(word),
  );
  return found ?? null;
}
