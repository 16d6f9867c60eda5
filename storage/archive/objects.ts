/** Where archived days are: immutable objects by key, in a bucket (`s3-objects.ts`) or a folder (`folder-objects.ts`). */
import { StoreUnavailableError } from '../errors.js';

/** An object cannot be read or written now. Whoever needs it tries again later; nothing in the store is damaged. */
export class ArchiveUnavailableError extends StoreUnavailableError {}

/** An object that is gone, shorter than it was, or has other bytes. */
export class ObjectFaultError extends ArchiveUnavailableError {}

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
  /** When an object was written, epoch seconds; Infinity if that is not known, null if there is none. */
  writtenS(key: string): Promise<number | null>;
  /** Removes an object; one that is gone is no error. */
  remove(key: string): Promise<void>;
  /** Ends what is under way. */
  close(): void;
}
