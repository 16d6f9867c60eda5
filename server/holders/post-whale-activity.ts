import Type from 'typebox';
import { CHAIN_RULES } from '../chain-rules.js';
import { defineEndpoint } from '../api/endpoint.js';
import { chainKey, count, document, tokenAddress, word } from '../api/schemas.js';
import {
  HOLDER_FLOW_NOTES,
  flowSparkline,
  flowSummary,
  hasCoverage,
  lastSnapshotAt,
} from './whale-fields.js';

/** Tokens that one request may ask for. */
export const MAX_BATCH_WHALES = 10;
/** The sections that a batch may have: wallets are for single tokens. */
export const BATCH_SECTIONS = ['summary', 'sparkline'] as const;

export const postWhaleActivity = defineEndpoint({
  operationId: 'postWhaleActivity',
  method: 'POST',
  path: '/whale-activity',
  tag: 'Holders',
  summary: 'What the largest holders of up to 10 tokens did',
  description:
    "Counts and flows in the request's order, duplicates kept.\n\n" +
    `${HOLDER_FLOW_NOTES} Its \`summary\` and \`sparkline\` are left out.\n\n` +
    'Six requests a minute, beside what the plan allows. A call costs as many of the monthly quota as it ' +
    'names tokens.',
  tier: 'premium',
  quotaCost: 'tokens',
  rateBuckets: ['general', 'whale-post'],
  chain: CHAIN_RULES.postWhaleActivity,
  query: Type.Object({}),
  body: Type.Object({
    token_addresses: Type.Array(Type.String(), {
      maxItems: MAX_BATCH_WHALES,
      description: 'Base58 mints.',
    }),
    include: Type.Optional(
      Type.Array(word(BATCH_SECTIONS), {
        description: 'Sections of each item; both where it is left out.',
      }),
    ),
  }),
  response: document({
    chain: chainKey,
    count: count('Items of `tokens`'),
    tokens: Type.Array(
      document({
        token_address: tokenAddress,
        chain: chainKey,
        has_coverage: hasCoverage,
        last_snapshot_at: lastSnapshotAt,
        summary: Type.Optional(flowSummary),
        sparkline: Type.Optional(flowSparkline),
      }),
      { maxItems: MAX_BATCH_WHALES },
    ),
  }),
  errors: [],
});
