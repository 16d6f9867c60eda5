/** Checks a store, through the server that has it open or by opening it for reading. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { withReading } from '../access.js';
import type { CheckCursor, CheckStep, Damage } from '../contract.js';
import { DATABASE_FILE, LOG_FILE } from '../data-directory.js';
import { readLog } from '../duckdb/log-frames.js';
import { InputError } from '../errors.js';
import { oldSchema } from '../migrations.js';
import { Checker, stagingLeftovers } from './checker.js';

/** Damages that are kept. */
const MAX_DAMAGES = 100_000;

interface Checked {
  damages: Damage[];
  segments: number;
  /** Files in staging/: left-overs of killed commands, or of those at work. */
  leftovers: number;
}

/** @param onProgress gets the share of the check that is done, 0 to 1 */
export async function checkStore(
  directory: string,
  onProgress?: (share: number) => void,
): Promise<Checked> {
  const checked: Checked = {
    ...{ damages: [], segments: 0 },
    leftovers: await stagingLeftovers(directory),
  };
  let isOpen = false as boolean;
  try {
    await withReading(directory, async (reading) => {
      isOpen = true;
      if ('database' in reading) {
        if ((await oldSchema(reading.database, directory)) !== null)
          throw ofEarlierVersion(directory);
        checked.damages.push(...(await logDamages(directory)));
      }
      for (let cursor: CheckCursor | null = null; ;) {
        const step: CheckStep =
          'server' in reading
            ? await reading.server.checkStep(cursor)
            : await new Checker(reading.database, directory).step(cursor);
        checked.segments += step.segments;
        checked.damages.push(...step.damages.slice(0, MAX_DAMAGES - checked.damages.length));
        onProgress?.(step.done);
        if (step.next === null) return;
        cursor = step.next;
      }
    });
  } catch (error) {
    if (isOpen || !(error instanceof InputError)) throw error;
    checked.damages.push({
      dataset: 'database',
      token: null,
      from: null,
      to: null,
      what: error.message,
    });
  }
  return checked;
}

function ofEarlierVersion(directory: string): InputError {
  return new InputError(
    `${directory} was written by an earlier version of Fathom: check it with that version, or start this one on it first`,
  );
}

/** A log that breaks off before its last commit: what is behind that point is lost. */
async function logDamages(directory: string): Promise<Damage[]> {
  const log = path.join(directory, LOG_FILE);
  if (!existsSync(log)) return [];
  const { state, wholeBytes } = readLog(await readFile(log));
  if (state === 'whole' || state === 'torn') return [];
  const what = `${LOG_FILE}, the log of ${DATABASE_FILE}, is ${state === 'blank' ? 'blank' : `damaged from byte ${wholeBytes} on`}`;
  return [{ dataset: 'database', token: null, from: null, to: null, what }];
}
