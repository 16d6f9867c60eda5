/**
 * Which log's stores remove objects of a prefix: the first that archived there, and then whoever takes over. Others may
 * name its objects and write their own, such as a copy that was started for a trial.
 */
import { createHash } from 'node:crypto';
import { InputError } from '../errors.js';
import { ObjectFaultError, type Objects } from './objects.js';

/** The object that names the log, and its length. */
const OWNER_KEY = 'owner';
const OWNER_BYTES = 64;

/** The objects of the prefix are another store's: nothing is removed. */
export class NotOwnerError extends InputError {
  constructor(place: string) {
    super(
      `the objects in ${place} belong to another store, or to the log that this one had before: none is removed; if no other store uses them, fathom archive collect --take-over makes them this one's`,
    );
  }
}

/**
 * Makes the objects a log's own, if they are no other's.
 * @param takesOver also if they are another's
 * @throws NotOwnerError if they are another's
 * @throws ObjectFaultError if that cannot be told
 */
export async function claim(objects: Objects, logId: string, takesOver = false): Promise<void> {
  const found = await ownerOf(objects).catch((error: unknown) => {
    // Whoever takes over also mends a damaged one.
    if (takesOver && error instanceof ObjectFaultError) return null;
    throw error;
  });
  if (found === logId) return;
  if (found !== null && !takesOver) throw new NotOwnerError(objects.name);
  const content = Buffer.from(logId.padEnd(OWNER_BYTES));
  await objects.put(OWNER_KEY, content, createHash('sha256').update(content).digest('hex'));
}

/** The log whose objects these are; null: no log's yet. @throws ObjectFaultError if its name is cut */
export async function ownerOf(objects: Objects): Promise<string | null> {
  try {
    return Buffer.from(await objects.read(OWNER_KEY, 0, OWNER_BYTES))
      .toString()
      .trimEnd();
  } catch (error) {
    if (!(error instanceof ObjectFaultError)) throw error;
    // One that is cut says that there is an owner.
    if ((await objects.writtenS(OWNER_KEY)) !== null) throw error;
    return null;
  }
}
