/** `fathom check` */
import { isoOf } from '../../../compute/time.js';
import { checkStore } from '../../../storage/check/check.js';
import type { Damage } from '../../../storage/operations.js';
import { InputError } from '../../../storage/errors.js';
import { defineCommand } from '../command.js';
import { DATA, type Flags, type FlagValues, JSON_OUTPUT } from '../flags.js';
import { count, counted, PartlyDone, printJson, ProgressLine, printLine } from '../output.js';
import { storeDirectory } from '../runtime.js';

const FLAGS = {
  data: DATA,
  archive: { meaning: 'reads every object of the archive, too' },
  json: JSON_OUTPUT,
} as const satisfies Flags;
/** The most damages, and the most files of no stored segment, that the report lists. */
const MAX_LISTED_FINDINGS = 1000;
/** The most damages that the lines for people name: a lost bucket damages every archived segment. */
const MAX_NAMED_DAMAGES = 20;
/** The most files of no stored segment that the line for people names. */
const MAX_NAMED_FILES = 3;

export const command = defineCommand({
  about:
    'Reads a whole store, directly or through a server that has it open, and verifies its checksums and references. Changes nothing. Exits with 0 if all is well; otherwise lists what is damaged and exits with 1.',
  flags: FLAGS,
  examples: ['fathom check', 'fathom check --archive', 'fathom check --data backups/monday --json'],
  run: (flags) => check(flags),
});

/** @throws PartlyDone if anything is damaged */
async function check(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const directory = await storeDirectory(flags.data);
  const progress = new ProgressLine();
  const found = await checkStore(
    directory,
    (share) => progress.bar(share, 'checked'),
    flags.archive,
  ).finally(() => progress.end());
  const { segments, leftovers } = found;
  const damaged = found.damages.slice(0, MAX_LISTED_FINDINGS);
  const document = {
    ok: damaged.length === 0,
    segments,
    leftovers,
    stray_count: found.strays.length,
    strays: found.strays.slice(0, MAX_LISTED_FINDINGS),
    damage_count: found.damages.length,
    damaged,
  };
  if (damaged.length > 0) {
    const lines = damaged.slice(0, MAX_NAMED_DAMAGES).map(damageText);
    const more = found.damages.length - lines.length;
    if (more > 0) lines.push(`and ${count(more)} more`);
    lines.push(`${directory} is damaged in ${counted(found.damages.length, 'place')}`);
    throw new PartlyDone(new InputError(lines.join('\n'), lines), document);
  }
  const rest = leftovers === 0 ? '' : `; ${counted(leftovers, 'left-over')} in staging/`;
  const text = `${directory} is intact: ${counted(segments, 'segment')} and all rows read${rest}${strayText(found.strays)}`;
  if (flags.json) printJson(document);
  else printLine(text);
}

/** `; 12 files of no stored segment: fragments/1-all-70.gzip, ... and 9 more` */
function strayText(strays: readonly string[]): string {
  if (strays.length === 0) return '';
  const more = strays.length - MAX_NAMED_FILES;
  const rest = more > 0 ? ` and ${count(more)} more` : '';
  const names = strays.slice(0, MAX_NAMED_FILES).join(', ');
  return `; ${counted(strays.length, 'file')} of no stored segment: ${names}${rest}`;
}

/** `snapshots: mainchain:So11...: 2026-11-20T00:00:00Z to 2026-11-20T04:47:00Z: segment 7 (raw): ...` */
function damageText({ dataset, token, from, to, what }: Damage): string {
  const span = from === null || to === null ? null : `${isoOf(from)} to ${isoOf(to)}`;
  return [dataset, token, span, what].filter((part) => part !== null).join(': ');
}
