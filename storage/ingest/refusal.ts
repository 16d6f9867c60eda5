import { MAX_FAULTS, type Fault } from '../../compute/ingest/faults.js';
import { InputError } from '../errors.js';

/** The error of a file whose rows are faulty: the first ten, each `file:line: field: what is wrong`. */
export function refusal(file: string, faults: readonly Fault[]): InputError {
  const lines = [...faults]
    .sort((a, b) => a.line - b.line)
    .slice(0, MAX_FAULTS)
    .map(({ line, field, message }) => `${file}:${line}: ${field}: ${message}`);
  return new InputError(lines.join('\n'), lines);
}
