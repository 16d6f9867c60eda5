import { expect } from 'vitest';

/** Allowed between a number and its reference, relative. */
const TOLERANCE = 1e-9;
/** Allowed where both are next to nothing. */
const LEAST = 1e-9;

/** Expects the reference's number within rounding, or null where it is null. */
export function expectClose(actual: number | null, expected: number | null, name = ''): void {
  if (actual === null || expected === null) {
    expect(actual, name).toBe(expected);
    return;
  }
  const allowed = Math.max(LEAST, TOLERANCE * Math.abs(expected));
  // An expect() that holds costs more than the kernel does for the number.
  if (!(Math.abs(actual - expected) <= allowed)) expect(actual, name).toBe(expected);
}
