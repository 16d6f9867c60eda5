/** `fathom prune --before TIME` */
import { MAX_T_S } from '../../../compute/ingest/fields.js';
import { TIERS } from '../../../compute/market.js';
import { pruneDepth, shrinkStore } from '../../../storage/delete.js';
import { defineCommand } from '../command.js';
import {
  DRY_RUN,
  type Flags,
  type FlagValues,
  instant,
  JSON_OUTPUT,
  STORE_FLAGS,
} from '../flags.js';
import { storedToken, token as tokenOf, TOKEN_FORMS } from '../named-token.js';
import { sizeText, printJson, ProgressLine, printNote } from '../output.js';
import { removeConfirmed, removedText, YES } from '../removal.js';
import { storeOf } from '../runtime.js';

const FLAGS = {
  ...STORE_FLAGS,
  before: {
    placeholder: 'TIME',
    meaning: 'deletes snapshots before this time',
    needed: true,
    read: instant,
  },
  tier: {
    placeholder: 'T',
    meaning: 'deletes only snapshots of this tier',
    default: 'all tiers',
    values: TIERS,
  },
  token: {
    placeholder: 'TOKEN',
    meaning: `deletes only snapshots of this token: ${TOKEN_FORMS}`,
    default: 'all tokens',
    read: tokenOf,
  },
  yes: YES,
  'dry-run': DRY_RUN,
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Deletes depth history before a time, a few tokens per transaction, and shrinks the database as far as possible; a running server follows at once. It reports how much there is and asks first. Only depth is deleted. There is no undo.',
  flags: FLAGS,
  examples: [
    'fathom prune --before 2026-01-01 --dry-run',
    'fathom prune --before -90d --tier raw --yes --json',
    'fathom prune --before now --token evmchain:0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
  ],
  run: (flags) => prune(flags),
});

async function prune(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const store = await storeOf(flags);
  const beforeS = Math.min(Math.ceil(flags.before), MAX_T_S + 1);
  const token = flags.token === undefined ? null : await storedToken(store.useStore, flags.token);
  const narrowed = { tier: flags.tier ?? null, token };
  const progress = new ProgressLine();
  const onProgress = (share: number): void => progress.bar(share, 'tokens');
  const removed = await removeConfirmed(
    flags,
    store,
    (from) =>
      pruneDepth({ ...from, beforeS, ...narrowed, onProgress }).finally(() => progress.end()),
    (found) => `Delete ${removedText(found)}?`,
  );
  const isDryRun = flags['dry-run'];
  const file = isDryRun ? null : await shrinkStore(store.useStore);
  printNote(
    file === null
      ? `dry run: would delete ${removedText(removed)}`
      : `deleted ${removedText(removed)}; the store has ${sizeText(file.after)} instead of ${sizeText(file.before)}`,
  );
  if (!flags.json) return;
  printJson({
    before: beforeS,
    tier: narrowed.tier,
    token: token === null ? null : `${token.chain}:${token.address}`,
    deleted: { snapshots: removed.snapshots, cells: removed.cells },
    ...(file === null ? { dry_run: true } : { store_bytes: file }),
  });
}
