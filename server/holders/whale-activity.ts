/** GET and POST /whale-activity: flows of the largest holders (docs/definitions.md#holder-flow). */
import Type, { type Static } from '../api/type.js';
import {
  FLOW_DAYS,
  HOLDER_TIERS,
  MAX_RANKED,
  SUMMARY_WINDOWS,
} from '../../compute/holders/flow-plan.js';
import type { HolderFlow } from '../../compute/holders/flow.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import { Reply, replyKey } from '../api/replies.js';
import {
  addressParameter,
  chainKey,
  count,
  document,
  EXAMPLE_MINTS,
  flag,
  list,
  tokenAddress,
  word,
} from '../api/schemas.js';
import { whenReady } from '../board.js';
import {
  coverageOf,
  flowSparkline,
  flowSummary,
  flowWallets,
  hasCoverage,
  lastSnapshotAt,
  sparklineOf,
  summaryOf,
  walletsOf,
} from './flow-sections.js';
import type { Services } from '../services.js';

export const FLOW_SECTIONS = ['summary', 'sparkline', 'wallets'] as const;
/** Sections of a batch: wallets are for single tokens. */
const BATCH_SECTIONS = ['summary', 'sparkline'] as const;
const WALLET_LIMITS = [20, 50, 100] as const;
/** Greatest number of items in `include`; repeated ones count once. */
const MAX_INCLUDE_ITEMS = 100;
const MAX_BATCH_TOKENS = 10;

const HOLDER_FLOW_NOTES =
  'Tiers are the first 20, 50 and 100 holders of the newest snapshot, ranked by balance, ties by address, or ' +
  'all holders if there are fewer. A window compares that snapshot with the newest one that is older by at ' +
  "least the window's length; an owner missing there held 0. Without such a snapshot, the window's " +
  'counts and flows are 0. The sparkline compares the last snapshot of each of the 30 UTC days up to the ' +
  "newest snapshot's with the last one of any earlier day, by that day's ranking; a day where either is " +
  'missing has zeros. Amounts are in tokens.\n\n' +
  'Snapshots of the last two days are all kept; older ones are thinned to the last of each UTC hour for ' +
  'nine days, of each six hours for 33 days, of each day for 400: the 7-day window is exact to the hour, those of 14 and ' +
  '30 days to six hours, and the days of the sparkline are exact. A server whose clock is frozen more than two ' +
  'days before the newest stored snapshot has only the thinned snapshots.\n\n' +
  'A token without a visible snapshot is not an error: `has_coverage` is false and `last_snapshot_at` null.';

const none = document(
  'NoCoverage',
  {},
  { description: 'Returned when the token has no coverage.' },
);

export const getWhaleActivity = defineEndpoint({
  operationId: 'getWhaleActivity',
  method: 'GET',
  path: '/whale-activity',
  tag: 'Holders',
  summary: 'Activity of the largest holders of one token',
  description:
    `Counts and flows of the largest holders by window and by day, and the holders themselves.\n\n` +
    `${HOLDER_FLOW_NOTES} \`summary\` and \`sparkline\` are then \`{}\`, and \`wallets\` is empty.\n\n` +
    "Limited to one request per second, on top of the plan's limits. Snapshots arrive about once a " +
    'minute; `Cache-Control` lets clients cache a reply for as long.',
  maxAgeS: 60,
  rateBuckets: ['general', 'whale-get'],
  chain: { kind: 'address', at: { in: 'query', name: 'token_address' }, supported: ['mainchain'] },
  query: Type.Object({
    token_address: addressParameter,
    include: list(
      word(FLOW_SECTIONS),
      MAX_INCLUDE_ITEMS,
      'Sections of the reply: `summary`, `sparkline`, `wallets`. Default: all three.',
      ['summary', 'wallets'],
    ),
    wallet_limit: word(WALLET_LIMITS, {
      default: MAX_RANKED,
      description: 'Maximum number of wallets.',
    }),
    wallet_activity: flag(`Adds each wallet's balance on each of the last ${FLOW_DAYS} days.`),
  }),
  response: document('WhaleActivity', {
    token_address: tokenAddress,
    chain: chainKey,
    has_coverage: hasCoverage,
    last_snapshot_at: lastSnapshotAt,
    windows: Type.Array(word(SUMMARY_WINDOWS), { description: 'The windows of `summary`.' }),
    tiers: Type.Array(word(HOLDER_TIERS), { description: 'The tiers of holders.' }),
    summary: Type.Optional(Type.Union([flowSummary, none])),
    sparkline: Type.Optional(Type.Union([flowSparkline, none])),
    wallets: Type.Optional(flowWallets),
  }),
});

export const postWhaleActivity = defineEndpoint({
  operationId: 'postWhaleActivity',
  method: 'POST',
  path: '/whale-activity',
  tag: 'Holders',
  summary: 'Activity of the largest holders of up to 10 tokens',
  description:
    'Counts and flows in the order of the request, duplicates included.\n\n' +
    `${HOLDER_FLOW_NOTES} Its \`summary\` and \`sparkline\` are left out.\n\n` +
    "Limited to six requests per minute, on top of the plan's limits.",
  quotaCost: 'tokens',
  rateBuckets: ['general', 'whale-post'],
  chain: { kind: 'batch', name: 'token_addresses', supported: ['mainchain'], invalid: 'refused' },
  query: Type.Object({}),
  body: document('WhaleActivityBatchRequest', {
    token_addresses: Type.Array(Type.String(), {
      maxItems: MAX_BATCH_TOKENS,
      description: 'Base58 mints.',
      examples: [EXAMPLE_MINTS],
    }),
    include: Type.Optional(
      Type.Array(word(BATCH_SECTIONS), {
        description: 'Sections of each item. Default: both.',
      }),
    ),
  }),
  response: document('WhaleActivityBatch', {
    chain: chainKey,
    count: count('Items of `tokens`'),
    tokens: Type.Array(
      document('BatchWhaleActivity', {
        token_address: tokenAddress,
        chain: chainKey,
        has_coverage: hasCoverage,
        last_snapshot_at: lastSnapshotAt,
        summary: Type.Optional(flowSummary),
        sparkline: Type.Optional(flowSparkline),
      }),
      { maxItems: MAX_BATCH_TOKENS },
    ),
  }),
});

export function holderHandlers({ holderFlows: flows, kept }: Services): {
  getWhaleActivity: Handler<typeof getWhaleActivity>;
  postWhaleActivity: Handler<typeof postWhaleActivity>;
} {
  const reply = (address: string, flow: HolderFlow | null, view: FlowView) =>
    flow === null
      ? flowDocument(address, null, view)
      : Reply.cached(kept, keyOf(flow, view), () => flowDocument(address, flow, view));
  return {
    getWhaleActivity({ token: { address }, query }) {
      const view: FlowView = {
        sections: new Set(query.include ?? FLOW_SECTIONS),
        walletLimit: query.wallet_limit,
        walletActivity: query.wallet_activity,
      };
      return whenReady(flows.get(address), (flow) => reply(address, flow, view));
    },

    async postWhaleActivity({ tokens, body }) {
      const sections = new Set(body.include ?? BATCH_SECTIONS);
      const items = await Promise.all(
        tokens.map(async ({ address }) => {
          const flow = await flows.get(address);
          return {
            token_address: address,
            chain: 'mainchain' as const,
            ...coverageOf(flow),
            ...(flow !== null && sections.has('summary') ? { summary: summaryOf(flow) } : {}),
            ...(flow !== null && sections.has('sparkline') ? { sparkline: sparklineOf(flow) } : {}),
          };
        }),
      );
      return { chain: 'mainchain', count: items.length, tokens: items };
    },
  };
}

export type FlowDocument = Static<(typeof getWhaleActivity)['response']>;

interface FlowView {
  sections: ReadonlySet<(typeof FLOW_SECTIONS)[number]>;
  walletLimit: number;
  walletActivity: boolean;
}

/** The reply of a GET. @param flow null: no coverage */
export function flowDocument(
  tokenAddress: string,
  flow: HolderFlow | null,
  { sections, walletLimit, walletActivity }: FlowView,
): FlowDocument {
  const reply: FlowDocument = {
    token_address: tokenAddress,
    chain: 'mainchain',
    ...coverageOf(flow),
    windows: [...SUMMARY_WINDOWS],
    tiers: [...HOLDER_TIERS],
  };
  if (sections.has('summary')) reply.summary = flow === null ? {} : summaryOf(flow);
  if (sections.has('sparkline')) reply.sparkline = flow === null ? {} : sparklineOf(flow);
  if (sections.has('wallets')) {
    reply.wallets = flow === null ? [] : walletsOf(flow, walletLimit, walletActivity);
  }
  return reply;
}

/** The key of a cached reply; a flow belongs to one token at one time. */
function keyOf(flow: HolderFlow, view: FlowView): string {
  const { sections, walletLimit, walletActivity } = view;
  const shown = FLOW_SECTIONS.filter((section) => sections.has(section));
  // Without wallets, their parameters make no difference.
  const wallets = sections.has('wallets') ? `${walletLimit} ${walletActivity}` : '';
  return replyKey('whale-activity', flow, shown.join(), wallets);
}
