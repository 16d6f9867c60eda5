/** Refusals of an import: what is missing, or why it gave no rows. */
import { InputError } from '../errors.js';
import type { ImportReport } from './formats.js';

/**
 * An option that would lift a refusal: the worth of a contract, one of several symbols, or a shorter
 * step between snapshots.
 */
export type NeededOption = 'contract' | 'symbol' | 'everyS';

/** The input cannot be imported without an option; the caller adds how to give it. */
export class OptionNeededError extends InputError {
  constructor(
    readonly option: NeededOption,
    message: string,
  ) {
    super(message);
  }
}

/** The input was read to its end and gave no rows. */
export class NothingImportedError extends InputError {
  /** @param option may give rows; the caller adds how to give it */
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
