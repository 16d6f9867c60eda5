/** `fathom retention --allow TIME` */
import { MAX_T_S } from '../../../compute/ingest/fields.js';
import { isoOf } from '../../../compute/time.js';
import { defineCommand } from '../command.js';
import { type Flags, type FlagValues, instant, JSON_OUTPUT, STORE_FLAGS } from '../flags.js';
import { printJson, printNote } from '../output.js';
import { onStore } from '../runtime.js';

const FLAGS = {
  ...STORE_FLAGS,
  allow: {
    placeholder: 'TIME',
    meaning: 'lets retention delete everything due at this time, however much it is',
    needed: true,
    read: instant,
  },
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Resumes retention that waits because it would delete more than usual, or because the clock is far ahead of the newest snapshot. The log says that it waits, and names the TIME to allow. A running server resumes within a minute. There is no undo.',
  flags: FLAGS,
  examples: [
    'fathom retention --allow now --data data',
    'fathom retention --allow 2026-11-22T00:00:00Z --json',
  ],
  run: allow,
});

async function allow(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const toS = Math.min(Math.floor(flags.allow), MAX_T_S);
  await onStore(flags, (store) => store.allowRetention(toS));
  printNote(`retention may delete everything due at ${isoOf(toS)}`);
  if (flags.json) printJson({ allowed_to: toS });
}
