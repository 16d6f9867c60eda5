import { expect } from 'vitest';

/** Allowed relative difference between a number and its reference. */
const TOLERANCE = 1e-9;
/** Allowed difference if both are almost zero. */
const LEAST = 1e-9;

/** Expects the reference's number within rounding, or null where it is null. */
export function expectClose(actual: number | null, expected: number | null, name = ''): void {
  if (actual === null || expected === null) {
    expect(actual, name).toBe(expected);
    return;
  }
  const allowed = Math.max(LEAST, TOLERANCE * Math.abs(expected));
  // A passing expect() costs more than the kernel's computation of the number.
  if (!(Math.abs(actual - expected) <= allowed)) expect(actual, name).toBe(expected);
}
