/** `fathom backup --out DIR` */
import path from 'node:path';
import { backupStore } from '../../../storage/backup.js';
import { defineCommand } from '../command.js';
import { type Flags, type FlagValues, JSON_OUTPUT, STORE_FLAGS } from '../flags.js';
import { counted, sizeText, printJson, ProgressLine, printNote } from '../output.js';
import { storeOf } from '../runtime.js';

const FLAGS = {
  ...STORE_FLAGS,
  out: {
    placeholder: 'DIR',
    meaning: 'destination: an empty directory, or one that does not exist yet',
    needed: true,
    names: 'directory',
    read: (text: string) => path.resolve(text),
  },
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Copies a store, keys included, as of one moment, but not the objects of its archive. A server that has it open keeps serving and committing. Once the copy is complete on disk, it is a data directory for serve.',
  flags: FLAGS,
  examples: [
    'fathom backup --data data --out backups/monday',
    'fathom backup --out /mnt/backups/fathom-2026-11-22 --json',
  ],
  run: (flags) => backup(flags),
});

async function backup(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const startedMs = performance.now();
  const progress = new ProgressLine();
  const { bytes, position, archived } = await backupStore({
    ...(await storeOf(flags)),
    out: flags.out,
    onProgress: (share) => progress.bar(share, 'copied'),
  }).finally(() => progress.end());
  const seconds = Math.round(performance.now() - startedMs) / 1000;
  printNote(
    `copied ${sizeText(bytes)} to ${flags.out} in ${seconds} s, as of position ${position} of the log`,
  );
  const { place, objects, bytes: objectBytes } = archived;
  if (objects > 0) {
    printNote(
      `not in it: ${counted(objects, 'object')} of archived days, ${sizeText(objectBytes)}, which the copy reads in ${place ?? 'an archive that this process does not know'}`,
    );
  }
  const notCopied = objects === 0 ? null : { archive: place, objects, object_bytes: objectBytes };
  if (flags.json) printJson({ out: flags.out, bytes, seconds, position, not_copied: notCopied });
}
