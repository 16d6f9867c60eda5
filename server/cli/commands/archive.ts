/** `fathom archive status`, `run`, `restore`, `collect` */
import { type Tier, TIERS } from '../../../compute/market.js';
import { DAY_S, isoOf } from '../../../compute/time.js';
import type { ArchiveWindow } from '../../../storage/archive/archived-day.js';
import { DiskFullError, Failures, InputError } from '../../../storage/errors.js';
import type { ArchivedNext, ArchiveStatus, UseStore } from '../../../storage/operations.js';
import { ARCHIVE_FLAGS } from '../archive-settings.js';
import { defineCommand } from '../command.js';
import { type FlagValues, instant, JSON_OUTPUT, STORE_FLAGS } from '../flags.js';
import { storedToken, token as tokenOf, TOKEN_FORMS } from '../named-token.js';
import {
  count,
  counted,
  sizeText,
  PartlyDone,
  printJson,
  printLine,
  printNote,
} from '../output.js';
import { onStore } from '../runtime.js';
import { archiveInEffect } from '../serve-options.js';

/** A running server uses its own settings of the archive; these are for a store that no server has open. */
const FLAGS = { ...STORE_FLAGS, ...ARCHIVE_FLAGS, json: JSON_OUTPUT };

function storeBy(flags: Partial<FlagValues<typeof FLAGS>>): UseStore {
  const archive = archiveInEffect(flags);
  return (body) => onStore(flags, body, { archive });
}

const TOKEN = {
  placeholder: 'TOKEN',
  meaning: `only days of this token: ${TOKEN_FORMS}`,
  default: 'all tokens',
  read: tokenOf,
} as const;

/** Later than all snapshots. */
const END_S = 2 ** 32;

export const status = defineCommand({
  about:
    "Shows what a store has in its archive: objects, their bytes, the days that wait, why a server's archiving fails, and the disk's part; with --token, which of that token's days. Exits with 1 if the archive cannot be read, or has lost its newest object.",
  flags: {
    ...FLAGS,
    token: {
      ...TOKEN,
      meaning: `also lists this token's archived days: ${TOKEN_FORMS}`,
      default: 'none',
    },
  },
  examples: ['fathom archive status --data data', 'fathom archive status --token WETH --json'],
  run: async (flags) => {
    const use = storeBy(flags);
    const token = flags.token === undefined ? null : await storedToken(use, flags.token);
    const found = await use(async (store) => ({
      ...(await store.archiveStatus()),
      storeBytes: await store.bytes(),
      problem: await store.archiveProblem(),
      spans: token && spansOf(await store.archivedWindows(token, 0, END_S)),
    }));
    const document = {
      archive: found.place,
      problem: found.problem,
      last_error: found.lastError,
      objects: found.objects,
      object_bytes: found.bytes,
      unused_objects: found.unused,
      days_due: found.due,
      store_bytes: found.storeBytes,
      cached_blocks: found.files,
      cached_bytes: found.fileBytes,
      reads: found.reads,
      read_bytes: found.readBytes,
      failures: found.failures,
      ...(found.spans !== null && { archived_days: found.spans }),
    };
    const { problem } = found;
    if (flags.json && problem === null) printJson(document);
    if (!flags.json) printStatus(found);
    if (problem !== null) throw new PartlyDone(new InputError(problem), document);
  },
});

/** Archived UTC days of a token that follow each other. */
interface DaySpan {
  tier: Tier;
  /** Its first day, and its last one. */
  from: string;
  to: string;
  days: number;
}

/** By tier, then time. */
function spansOf(windows: readonly ArchiveWindow[]): DaySpan[] {
  return TIERS.flatMap((tier) => {
    const own = windows.filter((window) => window.tier === tier);
    const days = [...new Set(own.map(({ fromS }) => Math.floor(fromS / DAY_S)))];
    const spans: DaySpan[] = [];
    for (const [i, day] of days.entries()) {
      const date = isoOf(day * DAY_S).slice(0, 10);
      const last = spans.at(-1);
      if (last === undefined || day > days[i - 1] + 1) {
        spans.push({ tier, from: date, to: date, days: 1 });
      } else {
        last.to = date;
        last.days++;
      }
    }
    return spans;
  });
}

function printStatus(
  found: ArchiveStatus & {
    storeBytes: number;
    problem: string | null;
    spans: readonly DaySpan[] | null;
  },
): void {
  printLine(`archive   ${found.place ?? 'none'}`);
  if (found.place !== null) {
    const tried = found.objects === 0 ? '' : ', and the newest object can be read';
    printLine(`reachable ${found.problem === null ? `yes${tried}` : `no: ${found.problem}`}`);
  }
  printLine(
    `objects   ${count(found.objects)}  ${sizeText(found.bytes)}  ${count(found.unused)} that nothing names`,
  );
  printLine(
    `days due  ${found.due === null ? 'unknown: no --archive-url, so nothing is archived' : count(found.due)}`,
  );
  if (found.lastError !== null) printLine(`failing   ${found.lastError}`);
  printLine(`store     ${sizeText(found.storeBytes)}`);
  printLine(`cache     ${counted(found.files, 'block')}  ${sizeText(found.fileBytes)}`);
  printLine(
    `read      ${counted(found.reads, 'range')}  ${sizeText(found.readBytes)}  ${counted(found.failures, 'failure')}`,
  );
  if (found.spans?.length === 0) printLine('archived  no day of this token');
  for (const { tier, from, to, days } of found.spans ?? []) {
    const until = days === 1 ? '' : ` to ${to}`;
    printLine(`archived  ${tier.padEnd(3)}  ${from}${until}  ${counted(days, 'day')}`);
  }
}

/** A line for a day that is done. */
function printDay(
  { token: { chain, address }, tier, dayS }: Omit<ArchivedNext, 'bytes' | 'failure' | 'left'>,
  what: string,
  left: number,
): void {
  const date = isoOf(dayS).slice(0, 10);
  printNote(`${chain}:${address}  ${tier}  ${date}  ${what}  ${count(left)} left`);
}

/** @throws PartlyDone if some days could not be `done`: archived or restored */
function endWithDays(
  failures: Failures,
  done: string,
  document: Readonly<Record<string, unknown>>,
): void {
  if (failures.count === 0) return;
  const what = `${counted(failures.count, 'day')} could not be ${done}`;
  throw new PartlyDone(failures.error(what), document);
}

export const run = defineCommand({
  about:
    'Archives every day that is due, now and in the foreground. A server with an archive does so by itself. If some days cannot be archived, it goes on with the others, names the reasons at the end, and exits with 1.',
  flags: FLAGS,
  examples: [
    'fathom archive run --data data',
    'fathom archive run --archive-url file:///mnt/history --archive-after 1h',
  ],
  run: async (flags) => {
    const done = { days: 0, bytes: 0, failed_days: 0 };
    const failures = new Failures();
    await storeBy(flags)(async (store) => {
      for (let next = await store.archiveNext(true); next !== null;) {
        const { bytes, failure, left } = next;
        if (failure === null) {
          done.days++;
          done.bytes += bytes;
          printDay(next, sizeText(bytes), left);
        } else {
          failures.add(failure);
          printDay(next, 'not archived', left);
        }
        next = await store.archiveNext(false);
      }
    });
    printNote(`archived ${counted(done.days, 'day')}, ${sizeText(done.bytes)}`);
    done.failed_days = failures.count;
    endWithDays(failures, 'archived', done);
    if (flags.json) printJson(done);
  },
});

const WINDOW = {
  from: { placeholder: 'TIME', meaning: 'first time', needed: true, read: instant },
  to: { placeholder: 'TIME', meaning: 'end, exclusive', needed: true, read: instant },
} as const;

export const restore = defineCommand({
  about:
    'Brings archived days back into the store: all those with a snapshot in the window. A server archives them again once they are due; a longer --archive-after keeps them. If some days cannot be restored, for example because their object is lost, it goes on with the others, names the reasons at the end, and exits with 1.',
  flags: {
    ...FLAGS,
    ...WINDOW,
    token: TOKEN,
  },
  examples: [
    'fathom archive restore --from 2026-10-01 --to 2026-11-01 --data data',
    'fathom archive restore --from -30d --to now --token WETH --json',
  ],
  run: async (flags) => {
    const { from: fromS, to: toS, token: named, json } = flags;
    if (toS <= fromS) throw new InputError('--to: expected a time after --from');
    const use = storeBy(flags);
    const token = named === undefined ? null : await storedToken(use, named);
    const done = { days: 0, segments: 0, failed_days: 0 };
    const failures = new Failures();
    await use(async (store) => {
      const windows = await store.archivedWindows(token, Math.ceil(fromS), Math.ceil(toS));
      for (const [i, window] of windows.entries()) {
        const day = { ...window, dayS: window.fromS };
        const left = windows.length - i - 1;
        try {
          const segments = await store.restoreArchived(window);
          done.days++;
          done.segments += segments;
          printDay(day, counted(segments, 'segment'), left);
        } catch (error) {
          // Others end every day.
          if (!(error instanceof InputError) || error instanceof DiskFullError) throw error;
          failures.add(error.message);
          printDay(day, 'not restored', left);
        }
      }
    });
    printNote(`restored ${counted(done.days, 'day')}, ${counted(done.segments, 'segment')}`);
    done.failed_days = failures.count;
    endWithDays(failures, 'restored', done);
    if (json) printJson(done);
  },
});

export const collect = defineCommand({
  about:
    "Removes the objects that the store named once, and that nothing has named for the grace. With --keep-since it, and the server from then on, also keep those that were named at that time or later: give the time of the oldest backup that you keep. Refuses if the objects are another store's.",
  flags: {
    ...FLAGS,
    'keep-since': {
      placeholder: 'TIME',
      meaning: 'keeps the objects that were named at this time or later',
      default: 'as last given',
      read: instant,
    },
    'take-over': {
      meaning: "makes the objects this store's, if they were another's, which then removes none",
    },
    unnamed: {
      meaning:
        "also removes what this store never named, even another store's days, which are then lost",
    },
  },
  examples: [
    'fathom archive collect --keep-since 2026-11-01 --data data',
    'fathom archive collect --json',
  ],
  run: async (flags) => {
    const { 'keep-since': keepSinceS = null, 'take-over': takesOver, unnamed, json } = flags;
    if (takesOver && unnamed) {
      throw new InputError(
        '--unnamed: not with --take-over: until now, another store named objects there; check that it is gone, then run collect --unnamed',
      );
    }
    let objects = 0;
    await storeBy(flags)(async (store) => {
      // Before collecting, which makes the store the owner if there is none.
      for (
        let after: string | null = null, isFirst = true;
        unnamed && (isFirst || after !== null);
      ) {
        const swept = await store.sweepObjects(after);
        objects += swept.removed;
        after = swept.next;
        isFirst = false;
      }
      for (let removed = 1; removed > 0; objects += removed) {
        removed = await store.collectObjects(keepSinceS, takesOver);
      }
    });
    printNote(`removed ${counted(objects, 'object')}`);
    if (json) printJson({ objects });
  },
});
