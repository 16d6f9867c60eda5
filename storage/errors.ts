/** Errors by what a command or request does about them: wrong usage, bad input, a busy or full store, a change in doubt. */

/** An unknown, missing or malformed argument. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Calls each reader. If some fail, the error contains the lines of all of them.
 * @throws UsageError
 */
export function allOf<T>(readers: readonly (() => T)[]): T[] {
  const faults: string[] = [];
  const values: T[] = [];
  for (const read of readers) {
    try {
      values.push(read());
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      faults.push(error.message);
    }
  }
  if (faults.length > 0) throw new UsageError(faults.join('\n'));
  return values;
}

/** The input is invalid; nothing of it was stored. */
export class InputError extends Error {
  override readonly name = 'InputError';
  /** The first faults in order, each as `file:line: field: what is wrong`. */
  readonly faults: readonly string[];

  constructor(message: string, faults: readonly string[] = [message]) {
    super(message);
    this.faults = faults;
  }
}

/**
 * A refusal that depends only on the request and on the stored data: every store with the same content refuses it, so
 * the nodes of a cluster skip its entry. Faults of a single machine or copy (disk, memory, damage) have other errors.
 */
export class RefusalError extends InputError {}

/**
 * An entry of a log, or a bundle, that no version of Fathom writes: it cannot be decoded, or lacks something that every
 * such entry has.
 */
export class MalformedError extends RefusalError {}

/** The store accepts no more changes because some of its data is damaged. */
export class DamagedDataError extends InputError {}

/**
 * A change needs blocks of archived segments. Entries never read the archive: whoever makes the change brings them back
 * into the store first, and again if another change has archived them meanwhile.
 */
export class ArchivedSegmentsError extends RefusalError {}

/** An addition would leave a market's snapshots with less than half of their cells. */
export class LossError extends RefusalError {
  /** @param losses one line per market */
  constructor(losses: readonly string[]) {
    super(losses.join('\n'), losses);
  }
}

/** The most things that could not be done whose reasons an error names. */
const MAX_NAMED_FAILURES = 20;

/** Why some of many things could not be done, while the others were: the first reasons, and how many there are. */
export class Failures {
  private readonly reasons: string[] = [];
  count = 0;

  add(reason: string): void {
    if (++this.count <= MAX_NAMED_FAILURES) this.reasons.push(reason);
  }

  /** Names the first reasons. @param what says how many there were: `2 days could not be archived` */
  error(what: string): InputError {
    const more = this.count - this.reasons.length;
    const rest = more > 0 ? [`and ${more.toLocaleString('en-US')} more`] : [];
    const lines = [...this.reasons, ...rest, what];
    return new InputError(lines.join('\n'), lines);
  }
}

/** How many faults were found in the part of the file that was read. */
export interface FaultCount {
  found: number;
  /** Whether reading stopped before the file's end: there may be more faults. */
  stopped: boolean;
}

/** A file is refused for its rows; nothing of it was stored. */
export class FaultyFileError extends InputError {
  constructor(
    file: string,
    faults: readonly string[],
    readonly faultCount: FaultCount,
  ) {
    super([...faults, `${file}: nothing was stored: ${countText(faultCount)}`].join('\n'), faults);
  }
}

function countText({ found, stopped }: FaultCount): string {
  const faults = `${found} ${found === 1 ? 'fault' : 'faults'}`;
  return stopped ? `at least ${faults} (reading stopped there)` : faults;
}

/** The store changed between a look-up and the commit: the file must be prepared again. */
export class StoreChangedError extends Error {
  override readonly name = 'StoreChangedError';

  constructor(readonly t: number) {
    super(`the stored snapshot at ${t} changed while the file was being read`);
  }
}

/** The store does not respond at the moment; try again later. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

/** The change is, or may be, in the cluster's log: callers must not assume that it was not stored. */
export class PendingError extends StoreUnavailableError {}

/** What to do about a change that may or may not have been stored. Repeating `keys create` would make a second key. */
export function adviceInDoubt(isOfKeys: boolean): string {
  return isOfKeys
    ? 'fathom keys list shows whether it has'
    : 'try again, which is harmless if it has';
}

/** Another process has the store open. */
export class StoreBusyError extends Error {
  override readonly name = 'StoreBusyError';
}

/** A bundle of another version of Fathom. */
export class BundleVersionError extends InputError {
  /** @param what names the bundle and the known version: 'a bundle of version 7, this version knows 6' */
  constructor(
    readonly what: string,
    readonly isNewer = true,
  ) {
    super(`the command wrote ${what}: run it and the server with one version of Fathom`);
  }
}

/** The disk is full; nothing was stored. */
export class DiskFullError extends InputError {
  constructor(file: string) {
    super(`${file} cannot grow: its disk is full (or a limit of the system is reached)`);
  }
}

/** A key is revoked in the process that has the store open, but the revocation could not be written. */
export class UnwrittenError extends InputError {
  constructor(id: string, cause: unknown) {
    super(
      `the revocation of ${id} could not be written: ${messageOf(cause)}\na running server refuses the key from now on and keeps trying to write the revocation;  ` +
        'if no server runs, or it stops before it succeeds, the key still works: make room and revoke it again',
    );
  }
}

/** What was thrown, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether a system call failed because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}

/** For catch(): null if the file does not exist. */
export function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}
