/** `fathom delete --token CHAIN:ADDRESS` */
import { createInterface } from 'node:readline/promises';
import { MAX_T_S } from '../../../compute/ingest/fields.js';
import type { Removed } from '../../../compute/segment/remove.js';
import { deleteDepth } from '../../../storage/delete.js';
import { InputError, UsageError } from '../../../storage/errors.js';
import type { UseStore } from '../../../storage/ingest/ingest.js';
import { defineCommand } from '../command.js';
import {
  DRY_RUN,
  type Flags,
  type FlagValues,
  instant,
  JSON_OUTPUT,
  token,
  STORE_FLAGS,
} from '../flags.js';
import { count, counted, printJson, tell } from '../output.js';
import { onStore, rehearsed, storeDirectory } from '../runtime.js';

const FLAGS = {
  ...STORE_FLAGS,
  token: {
    kind: 'text',
    placeholder: 'CHAIN:ADDRESS',
    meaning: 'the token',
    needed: true,
    read: token,
  },
  market: {
    kind: 'texts',
    placeholder: 'MARKET',
    meaning:
      "SOURCE/ADDRESS of a pool, SOURCE/PAIR of an order book: deletes this market's cells alone",
    default: 'all markets',
  },
  from: {
    kind: 'text',
    placeholder: 'TIME',
    meaning: 'deletes snapshots from this time on',
    default: 'the first',
    read: instant,
  },
  to: {
    kind: 'text',
    placeholder: 'TIME',
    meaning: 'deletes snapshots before this time',
    default: 'the last',
    read: instant,
  },
  yes: { kind: 'switch', meaning: 'does not ask; needed where there is no terminal' },
  'dry-run': DRY_RUN,
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    "Deletes a token's snapshots of all tiers in a window, or the cells of some of its markets, in one transaction; a running server follows at once. It says how many there are and asks first. Depth alone is deleted: the token, its orders, holders, pools and hours stay. There is no undo.",
  words: {},
  flags: FLAGS,
  examples: [
    'fathom delete --token mainchain:So11111111111111111111111111111111111111112 --from 2026-11-20 --to 2026-11-21',
    'fathom delete --token mainchain:So11111111111111111111111111111111111111112 --market binance/SOLUSDT --yes --json',
    'fathom delete --token evmchain:0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2 --dry-run',
  ],
  run: (flags) => deleteSnapshots(flags),
});

/** @throws UsageError | InputError */
async function deleteSnapshots(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const { chain, address } = flags.token;
  const fromS = Math.ceil(flags.from ?? 0);
  const toS = Math.ceil(flags.to ?? MAX_T_S + 1);
  if (fromS >= toS) throw new UsageError('--from: expected a time before --to');
  const isDryRun = flags['dry-run'];
  if (!isDryRun && !flags.yes && !process.stdin.isTTY) {
    throw new UsageError('--yes: needed where there is no terminal on which to ask');
  }
  const directory = await storeDirectory(flags.data);
  const useStore: UseStore = (body) => onStore(directory, body, flags['accept-damaged-log']);
  const markets = flags.market.length === 0 ? null : flags.market;
  const name = `${chain}:${address}`;
  const what = { chain, address, markets, fromS, toS };
  const remove = (dryRun: boolean): Promise<Removed> =>
    rehearsed(dryRun, directory, () => deleteDepth({ directory, useStore, ...what, dryRun }));
  if (!isDryRun && !flags.yes && !(await isConfirmed(await remove(true), name))) {
    throw new InputError('nothing was deleted');
  }
  const removed = await remove(isDryRun);
  tell(`${isDryRun ? 'dry run: would delete' : 'deleted'} ${removedText(removed)}`);
  if (!flags.json) return;
  printJson({
    token: name,
    markets,
    from: flags.from === undefined ? null : fromS,
    to: flags.to === undefined ? null : toS,
    deleted: {
      snapshots: removed.snapshots,
      changed_snapshots: removed.changedSnapshots,
      cells: removed.cells,
    },
    ...(isDryRun ? { dry_run: true } : {}),
  });
}

async function isConfirmed(removed: Removed, name: string): Promise<boolean> {
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  const question = `Delete ${removedText(removed)} of ${name}? There is no undo. [y/N] `;
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      // Nobody answers: the input has ended.
      asked.once('close', () => setImmediate(resolve, ''));
      asked.question(question).then(resolve, reject);
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asked.close();
  }
}

function removedText({ snapshots, changedSnapshots, cells }: Removed): string {
  const changed = changedSnapshots === 0 ? '' : ` and a part of ${count(changedSnapshots)} more`;
  return `${counted(snapshots, 'snapshot')}${changed} (${counted(cells, 'cell')})`;
}
