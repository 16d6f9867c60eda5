/** Refusals of an import: what it lacks, or why nothing came of it. */
import { InputError } from '../errors.js';
import type { ImportReport } from './formats.js';

/**
 * An option that would lift a refusal: the worth of a contract, one of several symbols, or a shorter
 * step between snapshots.
 */
export type NeededOption = 'contract' | 'symbol' | 'everyS';

/** The input cannot be imported without an option; the caller says how it is given. */
export class OptionNeededError extends InputError {
  constructor(
    readonly option: NeededOption,
    message: string,
  ) {
    super(message);
  }
}

/** The input was read to its end, and no row came of it. */
export class NothingImportedError extends InputError {
  /** @param option what might give rows; the caller says how it is given */
  constructor(
    cause: string,
    readonly report: ImportReport,
    readonly option: NeededOption | null = null,
  ) {
    super(`nothing to import: ${cause}`);
  }
}

/** The beginning of some input, safe to show on one line. */
export function excerpt(text: string, maxChars = 60): string {
  const start = text.slice(0, maxChars).replaceAll(/\p{C}/gu, '?');
  return text.length > maxChars ? `${start}...` : start;
}
