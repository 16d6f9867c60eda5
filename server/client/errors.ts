/** A replay that can't go on: the message is meant for whoever called. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';

  /** @param resumable whether another run may go on from the pages that are kept */
  constructor(
    message: string,
    readonly resumable = true,
  ) {
    super(message);
  }
}

/** What is kept and what the server has no longer go together. */
export function outdated(what: string): ReplayError {
  return new ReplayError(`${what}; use --restart`, false);
}

/** Characters of a server's own words that are repeated. */
const MAX_REPEATED_CHARS = 500;

/** A server's words, fit to be shown on a terminal: one line, no control characters, bounded. */
export function repeated(text: string): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return line.length <= MAX_REPEATED_CHARS ? line : `${line.slice(0, MAX_REPEATED_CHARS)}...`;
}
