/** The question and the report of the commands that delete depth. */
import { createInterface } from 'node:readline/promises';
import type { Removed } from '../../compute/segment/remove.js';
import { InputError, UsageError } from '../../storage/errors.js';
import type { Flag } from './flags.js';
import { count, counted } from './output.js';
import { type LocatedStore, rehearsed } from './runtime.js';

export const YES = {
  meaning: 'does not ask for confirmation; needed without a terminal',
} as const satisfies Flag;

/**
 * Counts in a rehearsal, asks the user, and removes if the answer is yes. With `yes` or `dry-run` it does not ask.
 * @param remove removes, or in a dry run counts what it would remove
 * @param question the question about what would be removed
 * @throws UsageError without a terminal on which to ask | InputError if the answer is no
 */
export async function removeConfirmed(
  flags: { yes: boolean; 'dry-run': boolean },
  store: LocatedStore,
  remove: (from: LocatedStore & { dryRun: boolean }) => Promise<Removed>,
  question: (found: Removed) => string,
): Promise<Removed> {
  const attempt = (dryRun: boolean) =>
    rehearsed(dryRun, store.directory, () => remove({ ...store, dryRun }));
  const isDryRun = flags['dry-run'];
  if (isDryRun || flags.yes) return attempt(isDryRun);
  if (!process.stdin.isTTY) {
    throw new UsageError('--yes: needed without a terminal');
  }
  if (await isYes(question(await attempt(true)))) return attempt(false);
  throw new InputError('nothing was deleted');
}

async function isYes(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      // The input ended without an answer.
      terminal.once('close', () => setImmediate(resolve, ''));
      terminal.question(`${question} There is no undo. [y/N] `).then(resolve, reject);
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

export function removedText({ snapshots, changedSnapshots, cells }: Removed): string {
  const changed = changedSnapshots === 0 ? '' : ` and a part of ${count(changedSnapshots)} more`;
  return `${counted(snapshots, 'snapshot')}${changed} (${counted(cells, 'cell')})`;
}
