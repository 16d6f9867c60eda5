import Type from 'typebox';
import {
  FLOW_DAYS,
  HOLDER_TIERS,
  MAX_RANKED,
  SUMMARY_WINDOWS,
} from '../../compute/holders/flow-plan.js';
import { CHAIN_RULES } from '../chain-rules.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  chainKey,
  document,
  flag,
  integer,
  list,
  nullable,
  number,
  text,
  tokenAddress,
  word,
} from '../api/schemas.js';
import {
  HOLDER_FLOW_NOTES,
  flowSparkline,
  flowSummary,
  hasCoverage,
  lastSnapshotAt,
  utcDay,
} from './whale-fields.js';

/** The parts of a reply that may be left out. */
export const WHALE_SECTIONS = ['summary', 'sparkline', 'wallets'] as const;
const WALLET_LIMITS = [20, 50, 100] as const;
/** Items that `include` may have: repeated ones count once. */
const MAX_INCLUDE_ITEMS = 100;

const none = document({}, { description: 'Without coverage.' });
const balanceChange = document({
  tokens: number('Change of the balance, tokens; 0 where no snapshot is that old'),
  pct: nullable(
    Type.Number(),
    'The change as a fraction of the balance before, 0.25 is 25%; null where that was 0, or where no ' +
      'snapshot is that old.',
  ),
});
const activityItem = document({
  day: utcDay,
  balance: nullable(
    Type.Number(),
    "Balance in the day's last snapshot, tokens, 0 for an owner who is not in it; null where the day " +
      'has no snapshot.',
  ),
  change: number(
    'Change against the last snapshot of any earlier day, tokens; 0 where either is missing',
  ),
});

export const getWhaleActivity = defineEndpoint({
  operationId: 'getWhaleActivity',
  method: 'GET',
  path: '/whale-activity',
  tag: 'Holders',
  summary: 'What the largest holders of a token did',
  description:
    `Counts and flows of the largest holders over windows and days, and the holders themselves.\n\n` +
    `${HOLDER_FLOW_NOTES} \`summary\` and \`sparkline\` are then \`{}\`, \`wallets\` is empty.\n\n` +
    'One request a second, beside what the plan allows. Snapshots come about once a minute: a reply may ' +
    'be kept as long, and its `Cache-Control` says so.',
  maxAgeS: 60,
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general', 'whale-get'],
  chain: CHAIN_RULES.getWhaleActivity,
  query: Type.Object({
    token_address: tokenAddress,
    include: list(
      word(WHALE_SECTIONS),
      MAX_INCLUDE_ITEMS,
      'Sections of the reply: `summary`, `sparkline`, `wallets`; all three where it is left out.',
    ),
    wallet_limit: word(WALLET_LIMITS, {
      default: MAX_RANKED,
      description: 'How many wallets are listed, at most.',
    }),
    wallet_activity: flag(`Whether each wallet has its balance on each of ${FLOW_DAYS} days.`),
  }),
  body: null,
  response: document({
    token_address: tokenAddress,
    chain: chainKey,
    has_coverage: hasCoverage,
    last_snapshot_at: lastSnapshotAt,
    windows: Type.Array(word(SUMMARY_WINDOWS), { description: 'The windows of `summary`.' }),
    tiers: Type.Array(word(HOLDER_TIERS), { description: 'The tiers of holders.' }),
    summary: Type.Optional(Type.Union([flowSummary, none])),
    sparkline: Type.Optional(Type.Union([flowSparkline, none])),
    wallets: Type.Optional(
      Type.Array(
        document({
          rank: integer('1 for the largest balance; ties by address'),
          owner: text("The wallet's address"),
          balance: number('Balance in the newest snapshot, tokens'),
          balance_change: document({
            '1d': balanceChange,
            '7d': balanceChange,
            '14d': balanceChange,
            '30d': balanceChange,
          }),
          activity: Type.Optional(
            Type.Array(activityItem, {
              minItems: FLOW_DAYS,
              maxItems: FLOW_DAYS,
              description:
                "With `wallet_activity=true`: one item a day, ascending, up to the newest snapshot's.",
            }),
          ),
        }),
        { maxItems: MAX_RANKED },
      ),
    ),
  }),
  errors: [],
});
