/** Checks a store, through the server that has it open or by opening it for reading. */
import { isDamage } from '../../compute/damage.js';
import { withReading } from '../access.js';
import { Archive } from '../archive/archive.js';
import { knownPlace, openObjects } from '../archive/open-objects.js';
import type { Database } from '../duckdb/database.js';
import { readMeta } from '../meta.js';
import type { CheckCursor, CheckStep, Damage } from '../operations.js';
import { InputError } from '../errors.js';
import { Checker, stagingLeftovers } from './checker.js';

/** Greatest number of damages in the result. */
const MAX_DAMAGES = 100_000;

interface Checked {
  damages: Damage[];
  segments: number;
  /** Files in staging/, of killed or running commands. */
  leftovers: number;
  /** Files in fragments/ that belong to no stored segment: left by a killed server, or foreign. */
  strays: string[];
}

/** The archive of a store that no process has open. */
async function archiveOf(database: Database): Promise<Archive> {
  const place = knownPlace(await readMeta(database));
  return new Archive(place && (await openObjects(place)));
}

/**
 * @param onProgress gets the completed share of the check, 0 to 1
 * @param readsArchive whether it reads every object of the archive, too
 */
export async function checkStore(
  directory: string,
  onProgress?: (share: number) => void,
  readsArchive = false,
): Promise<Checked> {
  const checked: Checked = {
    damages: [],
    segments: 0,
    strays: [],
    leftovers: await stagingLeftovers(directory),
  };
  let isOpen = false as boolean;
  try {
    await withReading(directory, async (reading) => {
      isOpen = true;
      const archive =
        readsArchive && 'database' in reading ? await archiveOf(reading.database) : null;
      for (let cursor: CheckCursor | null = null; ;) {
        const step: CheckStep =
          'server' in reading
            ? await reading.server.checkStep(cursor, readsArchive)
            : await new Checker(reading.database, directory, archive).step(cursor);
        checked.segments += step.segments;
        checked.strays.push(...step.strays);
        const found = step.damages.filter((damage) => !isKnown(damage, checked.damages));
        checked.damages.push(...found.slice(0, MAX_DAMAGES - checked.damages.length));
        onProgress?.(step.done);
        if (step.next === null) return;
        cursor = step.next;
      }
    });
  } catch (error) {
    // The table with the store's version may be damaged too.
    if (!(isOpen ? isDamage(error) : error instanceof InputError)) throw error;
    checked.damages.push({
      dataset: 'database',
      token: null,
      from: null,
      to: null,
      what: (error as Error).message,
    });
  }
  return checked;
}

/** A damaged block fails the scan of its table, and then every other part of the check that needs the block. */
function isKnown({ dataset, what }: Damage, known: readonly Damage[]): boolean {
  return dataset === 'database' && known.some((damage) => damage.what.endsWith(what));
}
