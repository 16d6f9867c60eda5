/** `fathom delete --token TOKEN` */
import { MAX_T_S } from '../../../compute/ingest/fields.js';
import { TIERS } from '../../../compute/market.js';
import { deleteSnapshots } from '../../../storage/delete.js';
import type { Removed } from '../../../compute/segment/remove.js';
import { UsageError } from '../../../storage/errors.js';
import { defineCommand } from '../command.js';
import {
  DRY_RUN,
  type Flags,
  type FlagValues,
  instant,
  JSON_OUTPUT,
  STORE_FLAGS,
} from '../flags.js';
import { storedToken, token, TOKEN_FORMS } from '../named-token.js';
import { counted, printJson, printNote } from '../output.js';
import { removeConfirmed, removedText, YES } from '../removal.js';
import { storeOf } from '../runtime.js';

const FLAGS = {
  ...STORE_FLAGS,
  token: {
    placeholder: 'TOKEN',
    meaning: `the token: ${TOKEN_FORMS}`,
    needed: true,
    read: token,
  },
  market: {
    repeated: true,
    placeholder: 'MARKET',
    meaning:
      "SOURCE/ADDRESS of a pool, SOURCE/PAIR of an order book: deletes only this market's cells",
    default: 'all markets',
  },
  tier: {
    placeholder: 'T',
    meaning: 'deletes only snapshots of this tier',
    default: 'all tiers',
    values: TIERS,
  },
  holders: { meaning: 'deletes snapshots of its holders instead of its depth' },
  from: {
    placeholder: 'TIME',
    meaning: 'deletes snapshots from this time on',
    default: 'the first',
    read: instant,
  },
  to: {
    placeholder: 'TIME',
    meaning: 'deletes snapshots before this time',
    default: 'the last',
    read: instant,
  },
  yes: YES,
  'dry-run': DRY_RUN,
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    "Deletes a token's snapshots in a window, or the cells of some of its markets, in one transaction; a running server follows at once. It reports how many there are and asks first. Only depth is deleted, or with --holders only the token's holder history: the token, its orders, pools and hours stay. There is no undo.",
  flags: FLAGS,
  examples: [
    'fathom delete --token mainchain:So11111111111111111111111111111111111111112 --from 2026-11-20 --to 2026-11-21',
    'fathom delete --token mainchain:So11111111111111111111111111111111111111112 --market binance/SOLUSDT --yes --json',
    'fathom delete --token evmchain:0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2 --dry-run',
  ],
  run: (flags) => run(flags),
});

async function run(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const fromS = Math.ceil(flags.from ?? 0);
  const toS = Math.ceil(flags.to ?? MAX_T_S + 1);
  if (fromS >= toS) throw new UsageError('--from: expected a time before --to');
  const { holders, 'dry-run': isDryRun } = flags;
  const tier = flags.tier ?? null;
  const markets = flags.market.length === 0 ? null : flags.market;
  if (holders && (tier !== null || markets !== null)) {
    throw new UsageError('--holders: expected without --tier and --market, which are of depth');
  }
  const store = await storeOf(flags);
  const { chain, address } = await storedToken(store.useStore, flags.token);
  const name = `${chain}:${address}`;
  const span = { chain, address, fromS, toS };
  const what = holders
    ? ({ kind: 'delete-holders', ...span } as const)
    : ({ kind: 'delete', ...span, tier, markets, needsAny: true } as const);
  const text = (found: Removed): string =>
    holders ? counted(found.snapshots, 'holder snapshot') : removedText(found);
  const removed = await removeConfirmed(
    flags,
    store,
    (from) => deleteSnapshots(from, what),
    (found) => `Delete ${text(found)} of ${name}?`,
  );
  printNote(`${isDryRun ? 'dry run: would delete' : 'deleted'} ${text(removed)}`);
  if (!flags.json) return;
  printJson({
    token: name,
    tier,
    markets,
    holders,
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
