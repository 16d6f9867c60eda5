/** Errors of DuckDB calls, classified by DuckDB's own words: messages also quote names and rows chosen by users. */
import { DamageError } from '../../compute/damage.js';

/** Kinds of errors about DuckDB's files. */
const KINDS_OF_FILES = ['IO', 'TransactionContext', 'FATAL'];
/** The end of such an error if the system has no room. */
const FULL = /: (No space left on device|File too large|(Dis[ck] )?quota exceeded)$/i;
/** How DuckDB refuses all work on a database; here every database is called `store`. */
const INVALIDATED =
  /^(Checkpoint failed for database "store"\. The database|Database "store") has been invalidated/;

export class DuckDBError extends Error {
  override readonly name = 'DuckDBError';
  /** Such as `IO` or `FATAL`; empty if DuckDB states none. */
  private readonly kind: string;
  /** The message after the kind, which may quote anything. */
  private readonly text: string;
  /** The text without quoted parts and without the excerpt of the statement. */
  private readonly words: string;

  constructor(cause: Error) {
    super(cause.message, { cause });
    const [, kind = '', text] = /^(?:([A-Za-z ]+) Error: )?(.*)$/s.exec(cause.message) ?? [];
    this.kind = kind;
    this.text = text;
    [this.words] = text.replace(/".*"/s, '""').split('\n\nLINE ');
  }

  /** DuckDB refuses all work until the file is opened again. */
  get isFatal(): boolean {
    return this.kind === 'FATAL' || (this.kind === 'IO' && INVALIDATED.test(this.text));
  }

  /** Its disk is full, or a limit of the system is reached. */
  get isDiskFull(): boolean {
    return KINDS_OF_FILES.includes(this.kind) && FULL.test(this.words);
  }

  /** The statement needs more memory than `memory_limit` leaves: a later attempt may succeed. */
  get isOutOfMemory(): boolean {
    return this.kind === 'Out of Memory';
  }

  /** Another process has the file open. */
  get isLock(): boolean {
    return this.kind === 'IO' && this.text.startsWith('Could not set lock on file "');
  }

  /** For an error of opening: the WAL does not belong to the database, or cannot be replayed. */
  get isWalError(): boolean {
    return !this.isLock && !this.isDiskFull && /\bWAL\b/.test(this.words);
  }

  /** A block of the file is damaged. */
  get isBlockDamage(): boolean {
    return KINDS_OF_FILES.includes(this.kind) && /(^|: )Corrupt database file/.test(this.words);
  }

  /** For an error of opening: the file cannot be read as a database. */
  get isFileError(): boolean {
    return (
      this.kind === 'IO' ||
      this.kind === 'Serialization' ||
      /not a valid DuckDB|corrupt|checksum/i.test(this.words)
    );
  }

  /** The first line of its text. */
  get reason(): string {
    return this.text.split('\n')[0];
  }
}

/** The DuckDB error behind an error that called() threw, possibly as damage; null for other errors. */
export function duckdbErrorIn(error: unknown): DuckDBError | null {
  const found = error instanceof DamageError ? error.cause : error;
  return found instanceof DuckDBError ? found : null;
}

/**
 * Runs a call of DuckDB's client and gives its failure a type.
 * @throws DamageError if a block of the file is damaged and DuckDB continues; otherwise DuckDBError
 */
export async function called<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    const error = new DuckDBError(cause instanceof Error ? cause : new Error(String(cause)));
    throw error.isBlockDamage && !error.isFatal
      ? new DamageError(error.message, { cause: error })
      : error;
  }
}
