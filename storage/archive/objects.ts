/** Where archived days are: immutable objects by key, in a bucket (`s3-objects.ts`) or a folder (`folder-objects.ts`). */
import { StoreUnavailableError } from '../errors.js';

/** An object cannot be read or written now. Whoever needs it tries again later; nothing in the store is damaged. */
export class ArchiveUnavailableError extends StoreUnavailableError {}

/** An object that is gone, shorter than it was, or has other bytes. */
export class ObjectFaultError extends ArchiveUnavailableError {}

/** An object as list() has it. */
export interface ListedObject {
  key: string;
  /** Epoch seconds; Infinity if that is not known. */
  writtenS: number;
}

/** Every method throws ArchiveUnavailableError if it fails. */
export interface Objects {
  /** The bucket or folder, for messages. */
  readonly name: string;
  /** Writes an object, durably once it resolves. @param sha256 of the bytes, hexadecimal */
  put(key: string, bytes: Uint8Array, sha256: string): Promise<void>;
  /**
   * Bytes `at <= i < at + length` of an object, in a separate ArrayBuffer.
   * @throws ObjectFaultError if the object is gone, or has fewer
   */
  read(key: string, at: number, length: number): Promise<Uint8Array>;
  /**
   * Some objects whose keys begin with `prefix`, a folder with its slash, after the key `after` in an order of its own.
   * null: from the first one on. None: there are no more.
   */
  list(prefix: string, after: string | null): Promise<readonly ListedObject[]>;
  /** When an object was written, epoch seconds; Infinity if that is not known, null if there is none. */
  writtenS(key: string): Promise<number | null>;
  /** Removes an object; one that is gone is no error. */
  remove(key: string): Promise<void>;
  /** Ends what is under way. */
  close(): void;
}
