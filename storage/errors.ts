/** The caller is wrong: an unknown, missing or malformed argument. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The data given is not what it should be; nothing of it was stored. */
export class InputError extends Error {
  override readonly name = 'InputError';
  /** What is wrong, first faults first, each as `file:line: field: what is wrong`. */
  readonly faults: readonly string[];

  /** Without `faults` the message is the one fault. */
  constructor(message: string, faults: readonly string[] = [message]) {
    super(message);
    this.faults = faults;
  }
}

/** The store changed between reading from it and committing: prepare the file again. */
export class StoreChangedError extends Error {
  override readonly name = 'StoreChangedError';

  constructor(readonly t: number) {
    super(`the stored snapshot at ${t} changed while the file was being read`);
  }
}

/** The store cannot be opened right now: another process keeps it. */
export class StoreBusyError extends Error {
  override readonly name = 'StoreBusyError';
}

/** The disk is full; nothing of what was to be written was stored. */
export class DiskFullError extends InputError {
  constructor(file: string) {
    super(`${file} cannot grow: its disk is full (or a limit of the system is reached)`);
  }
}

/** Whether a system call failed because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}
