/** GET /score/:address and POST /score, answered from memory at once. */
import type { TokenName } from '../../storage/contract.js';
import Type, { type Static } from '../api/type.js';
import { isKey } from '../../compute/base58.js';
import { CHAINS, TIERS } from '../../compute/market.js';
import {
  BALANCE_POINTS,
  DEPTH_POINTS,
  FIRST_SCORE_BIN,
  LAST_SCORE_BIN,
  SCORE_FORMULA,
  scoreWeight,
} from '../../compute/scores/score.js';
import type { RunTask } from '../../compute/pool.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import { Reply, addDataTime } from '../api/replies.js';
import {
  chainKey,
  count,
  document,
  epochSeconds,
  EXAMPLE_MINTS,
  flag,
  nullable,
  number,
  tokenAddress,
  tokenName,
  tokenSymbol,
  usd,
  word,
} from '../api/schemas.js';
import { unlessBusy } from '../http/errors.js';
import { atParameter, instantAt, oldestServedS } from '../replay/parameters.js';
import {
  isStaleScore,
  scoreMessage,
  serviceScore,
  staleField,
  tokenStatus,
} from '../tokens/token-fields.js';
import {
  type AssetScore,
  BEING_LOADED,
  NOT_A_MINT,
  NOT_INDEXED,
  QUEUED,
  type Standing,
} from '../tokens/standing.js';
import {
  currentPriceUsd,
  dataTime,
  type LiveToken,
  type TokenTable,
} from '../tokens/token-table.js';
import type { Services } from '../services.js';

const component = (name: string, points: number, description: string) =>
  document(
    name,
    {
      value: Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Value of the component, 0 to 1.',
      }),
      points: number(`Points that it adds to the score: ${points} times the value`),
    },
    { description },
  );

const tokenDataTime = nullable(
  Type.Integer(),
  "Time of the token's newest snapshot, Unix epoch seconds; null without one.",
);

/** The inputs of a score (`explain=true`): enough to compute it again. */
const scoreExplanation = document('ScoreExplanation', {
  formula_version: word([SCORE_FORMULA], {
    description:
      "Name of the formula: the score is the sum of its components' points, rounded to one decimal.",
  }),
  support: usd('S: sum of weight times support'),
  resistance: usd('R: sum of weight times resistance'),
  depth: usd('D: S + R'),
  components: document('ScoreComponents', {
    depth: component(
      'DepthComponent',
      DEPTH_POINTS,
      'clamp(log10(D / 1000) / 5, 0, 1); 0 if D < 1.',
    ),
    balance: component('BalanceComponent', BALANCE_POINTS, '1 - |S - R| / D; 0 if D < 1.'),
  }),
  unrounded: number('The score before rounding'),
  weights: Type.Array(
    document('ScoreWeight', {
      bin: Type.Integer({
        description: 'Bin of the 1% ladder: price = price of the leg * 1.01^bin.',
      }),
      weight: number('max(0, 1 - |1.01^bin - 1| / 0.25)'),
      support: usd('Support of all legs in this bin, perps left out'),
      resistance: usd('Resistance of all legs in this bin, perps left out'),
    }),
    { description: `Every weighted bin, ${FIRST_SCORE_BIN} to ${LAST_SCORE_BIN}.` },
  ),
  legs: Type.Array(
    document('ScoreLeg', {
      chain: chainKey,
      address: tokenAddress,
      t: epochSeconds('Time of the snapshot that was used'),
      tier: word(TIERS),
      price_usd: usd('Price of the snapshot'),
    }),
    { description: 'Legs whose depth was merged.' },
  ),
});

export const getScore = defineEndpoint({
  operationId: 'getScore',
  method: 'GET',
  path: '/score/:address',
  tag: 'Scores',
  summary: 'Score of one token',
  description:
    "The liquidity score of the token's asset. Never a 404: a mint without a record is `pending` and is " +
    'queued for analysis. The `0x` address of a bridged asset gets the reply of its mainchain mint. With `at`, the ' +
    "reply is as of that time, and uses each leg's newest snapshot at or before it.",
  dataTime: true,
  chain: {
    kind: 'address',
    at: { in: 'path', name: 'address' },
    supported: CHAINS,
    numericIds: true,
  },
  query: Type.Object({
    explain: flag('Adds `explain`: everything needed to recompute the score.'),
    at: atParameter,
  }),
  response: document('Score', {
    address: tokenAddress,
    chain: chainKey,
    symbol: tokenSymbol,
    name: tokenName,
    service_score: serviceScore,
    score_msg: scoreMessage,
    service_last_run: nullable(
      Type.String({ format: 'date-time' }),
      'Time of the newest snapshot that the score is based on, of any leg, UTC; null if there is no score.',
    ),
    data_time: tokenDataTime,
    stale: isStaleScore,
    service_current_price: nullable(Type.Number(), 'Current price, USD; null if unknown.'),
    status: tokenStatus,
    explain: Type.Optional(
      nullable(scoreExplanation, 'With `explain=true`; null if there is no score.'),
    ),
  }),
  errors: ['window_out_of_range', 'replay_busy'],
});

/** Greatest number of tokens in one request. */
const MAX_BATCH_SCORES = 50;

export const postScore = defineEndpoint({
  operationId: 'postScore',
  method: 'POST',
  path: '/score',
  tag: 'Scores',
  summary: 'Scores of up to 50 tokens',
  description:
    'Scores in the order of the request, duplicates included, each under its own address and chain. ' +
    'Mints without a record are `pending` and are queued for analysis. `X-Data-Time` is the oldest ' +
    '`data_time` of the reply.',
  dataTime: true,
  tier: 'enterprise',
  chain: {
    kind: 'batch',
    name: 'addresses',
    supported: CHAINS,
    invalid: 'listed',
    namesOffenders: true,
  },
  query: Type.Object({}),
  body: document('ScoreBatchRequest', {
    addresses: Type.Array(Type.String(), {
      maxItems: MAX_BATCH_SCORES,
      description: 'Base58 mints and `0x` addresses, in any mix.',
      examples: [EXAMPLE_MINTS],
    }),
  }),
  response: document('ScoreBatch', {
    count: count('Items of `tokens`'),
    tokens: Type.Array(
      document('BatchScore', {
        address: tokenAddress,
        chain: chainKey,
        symbol: tokenSymbol,
        service_score: serviceScore,
        data_time: tokenDataTime,
        stale: isStaleScore,
        status: tokenStatus,
      }),
    ),
    invalid_addresses: Type.Array(Type.String(), {
      description:
        'Items of the request that are not addresses, as sent; they are not in `tokens`.',
    }),
  }),
});

type ScoreDocument = Static<(typeof getScore)['response']>;

export function scoreHandler(services: Services): Handler<typeof getScore> {
  const { tokens, pool, clock } = services;
  // A token's reply is encoded once per revision.
  const kept = new WeakMap<LiveToken, { revision: number; reply: Reply<ScoreDocument> }>();
  return ({ token: requested, query, exchange, key }) => {
    const nowS = clock.nowS();
    const atS = instantAt(query.at, nowS);
    const named = tokens.table.token(requested.address);
    if (named === null) {
      const document = scoreDocument(requested, null, standingWithoutState(services, requested));
      return query.explain ? { ...document, explain: null } : document;
    }
    if (atS !== null) {
      const read = (run: RunTask) =>
        tokens.tableAt(named, { atS, oldestS: oldestServedS(nowS) }, run);
      return unlessBusy(pool.schedule('page', key.id, read, exchange)).then((table) => {
        const token = table && answeringToken(table, table.token(requested.address) ?? named);
        // Without a table the client has disconnected.
        if (token === null) return scoreDocument(requested, null, BEING_LOADED);
        addDataTime(exchange, dataTime(token));
        return query.explain ? explainedDocument(token) : tokenDocument(token);
      });
    }
    const token = answeringToken(tokens.table, named);
    tokens.table.checkReadable(token);
    addDataTime(exchange, dataTime(token));
    if (query.explain) return explainedDocument(token);
    const known = kept.get(token);
    if (known?.revision === token.revision) return known.reply;
    const reply = Reply.kept(tokenDocument(token));
    kept.set(token, { revision: token.revision, reply });
    return reply;
  };
}

/** The token whose reply a token gets: a bridged leg gets that of its mainchain leg. */
const answeringToken = (table: TokenTable, named: LiveToken): LiveToken =>
  table.leg(named, 'mainchain') ?? named;

const tokenDocument = (token: LiveToken): ScoreDocument =>
  scoreDocument(token.details, token, token.standing);

function explainedDocument(token: LiveToken): ScoreDocument {
  const { asset } = token.standing;
  return { ...tokenDocument(token), explain: asset && explain(asset) };
}

export function batchScoreHandler(services: Services): Handler<typeof postScore> {
  const item = ({ address, chain }: TokenName) => {
    const { table } = services.tokens;
    const token = table.token(address);
    if (token !== null) table.checkReadable(token);
    const standing = token?.standing ?? standingWithoutState(services, { address, chain });
    return {
      address,
      chain,
      symbol: token?.details.symbol ?? null,
      service_score: standing.asset?.score.score ?? null,
      data_time: token && dataTime(token),
      ...staleField(standing),
      status: standing.status,
    };
  };
  return ({ tokens, invalidAddresses, exchange }) => {
    const items = new Map<string, ReturnType<typeof item>>();
    for (const requested of tokens) {
      if (!items.has(requested.address)) items.set(requested.address, item(requested));
    }
    const times = [...items.values()].flatMap(({ data_time: t }) => t ?? []);
    addDataTime(exchange, times.length === 0 ? null : Math.min(...times));
    return {
      count: tokens.length,
      tokens: tokens.flatMap(({ address }) => items.get(address) ?? []),
      invalid_addresses: [...invalidAddresses],
    };
  };
}

/** The standing of a token that is not in memory; queues the token if it can be a mint and has no record. */
function standingWithoutState(
  { tokens, queue, logger }: Services,
  { chain, address }: TokenName,
): Standing {
  if (tokens.hasRecord(chain, address)) return BEING_LOADED;
  if (chain === 'evmchain') return NOT_INDEXED;
  if (!isKey(address)) return NOT_A_MINT;
  if (queue.request(chain, address)) logger.atWill('info', 'token queued', { chain, address });
  return QUEUED;
}

/** @param token null: not in memory */
function scoreDocument(
  { address, chain }: TokenName,
  token: LiveToken | null,
  standing: Standing,
): ScoreDocument {
  const { status, message, asset } = standing;
  return {
    address,
    chain,
    symbol: token?.details.symbol ?? null,
    name: token?.details.name ?? null,
    service_score: asset?.score.score ?? null,
    score_msg: message,
    service_last_run: asset === null ? null : new Date(asset.newestT * 1000).toISOString(),
    data_time: token && dataTime(token),
    ...staleField(standing),
    service_current_price: token && currentPriceUsd(token),
    status,
  };
}

function explain({ score, ladder, legs }: AssetScore): Static<typeof scoreExplanation> {
  return {
    formula_version: SCORE_FORMULA,
    support: score.supportUsd,
    resistance: score.resistanceUsd,
    depth: score.depthUsd,
    components: {
      depth: { value: score.depthShare, points: DEPTH_POINTS * score.depthShare },
      balance: { value: score.balanceShare, points: BALANCE_POINTS * score.balanceShare },
    },
    unrounded: score.unrounded,
    weights: Array.from(ladder.supportCents, (supportCents, i) => ({
      bin: FIRST_SCORE_BIN + i,
      weight: scoreWeight(FIRST_SCORE_BIN + i),
      support: supportCents / 100,
      resistance: ladder.resistanceCents[i] / 100,
    })),
    legs: legs.map(({ chain, address, ref: { t, tier }, priceUsd }) => ({
      chain,
      address,
      t,
      tier,
      price_usd: priceUsd,
    })),
  };
}
