/** Amounts as people type them. */
import { count } from '../state/format.js';
import { isOrderUsd } from '../state/url.js';

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, b: 1e9 };

/** `500000`, `500,000`, `$500k`, `1.5M`; null if it is not the amount of an order. */
export function amountOf(text: string): number | null {
  const match = /^\$?(\d{1,15}(?:\.\d*)?|\.\d+)([kmb]?)$/.exec(
    text
      .trim()
      .replaceAll(/[,_\s]/g, '')
      .toLowerCase(),
  );
  if (match === null) return null;
  const amount = Number(match[1]) * UNITS[match[2]];
  return isOrderUsd(amount) ? amount : null;
}

/** `500,000`: what amountOf() reads as this amount; empty if there is none. */
export function amountText(amount: number | null): string {
  if (amount === null) return '';
  return Number.isInteger(amount) ? count(amount) : String(amount);
}
