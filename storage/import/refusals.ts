/** The refusal of an import that gave no rows, and excerpts of the input for messages. */
import { InputError } from '../errors.js';
import type { ImportReport } from './formats.js';

/** The input was read to its end and gave no rows. */
export class NothingImportedError extends InputError {
  constructor(
    cause: string,
    readonly report: ImportReport,
  ) {
    super(`nothing to import: ${cause}`);
  }
}

/** The beginning of some input, safe to show on one line. */
export function excerpt(text: string, maxChars = 60): string {
  const start = text.slice(0, maxChars).replaceAll(/\p{C}/gu, '?');
  return text.length > maxChars ? `${start}...` : start;
}
