/** What a command that failed says, in words for people and as its JSON document. */
import { InputError, StoreBusyError, StoreChangedError, UsageError } from '../../storage/errors.js';

/** A command failed after a part of its work was done for good. */
export class PartlyDone extends Error {
  /** @param document what the command's JSON document says of the part that was done */
  constructor(
    override readonly cause: unknown,
    readonly document: Readonly<Record<string, unknown>>,
  ) {
    super('a command failed after a part of its work');
  }
}

/** One line for what went wrong (several for a file's faults), without a stack. */
export function failureText(error: unknown): string {
  if (isExpected(error)) return error.message;
  if (!(error instanceof Error)) return 'fathom: failed';
  if (process.env.FATHOM_DEBUG === '1') return error.stack ?? error.message;
  return `fathom: ${unexpectedText(error)}`;
}

/** The JSON document of a failure. */
export function failureDocument(error: unknown): Record<string, unknown> {
  if (error instanceof PartlyDone) return { ...error.document, ...failureDocument(error.cause) };
  const faults = error instanceof InputError ? { faults: error.faults } : {};
  return { error: failureText(error), ...faults };
}

function isExpected(error: unknown): error is Error {
  return [UsageError, InputError, StoreBusyError, StoreChangedError].some(
    (kind) => error instanceof kind,
  );
}

function unexpectedText(error: Error): string {
  const { code, path } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOSPC':
      return 'the disk is full';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `no permission: ${path ?? error.message}`;
    default:
      return error.message.split('\n')[0];
  }
}
