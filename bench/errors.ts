/** Errors of the benchmarks' programs. */

/** Wrong flags. */
export class BenchUsageError extends Error {}

/** A failure that its message explains; a stack trace would add nothing. */
export class BenchFailure extends Error {}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
