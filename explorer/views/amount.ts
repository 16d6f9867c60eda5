/** Amounts as people type them. */

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, b: 1e9 };

/** `500000`, `500,000`, `$500k`, `1.5M`; null if it is not a positive amount. */
export function amountOf(text: string): number | null {
  const match = /^\$?(\d{1,15}(?:\.\d*)?|\.\d+)([kmb]?)$/.exec(
    text
      .trim()
      .replaceAll(/[,_\s]/g, '')
      .toLowerCase(),
  );
  if (match === null) return null;
  const amount = Number(match[1]) * UNITS[match[2]];
  return amount > 0 ? amount : null;
}
