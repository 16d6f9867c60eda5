/** GET /top-scores, answered from boards kept in memory. */
import Type, { type Static } from '../api/type.js';
import { recordOf } from '../../compute/collections.js';
import { CHAINS } from '../../compute/market.js';
import type { ChainFilter } from '../api/chain.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import { Reply } from '../api/replies.js';
import {
  chainFilter,
  chainKey,
  count,
  document,
  flag,
  tokenAddress,
  tokenName,
  tokenSymbol,
  usd,
  word,
} from '../api/schemas.js';
import { Turns } from '../../storage/turns.js';
import { Board, whenReady } from '../board.js';
import type { Logger } from '../logger.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import { serviceScore } from '../tokens/token-fields.js';
import { currentPriceUsd, type LiveToken, type TokenTable } from '../tokens/token-table.js';

const TOP_SCORES = 50;

export const getTopScores = defineEndpoint({
  operationId: 'getTopScores',
  method: 'GET',
  path: '/top-scores',
  tag: 'Scores',
  summary: 'The 50 highest scores',
  description:
    'Scored tokens, highest score first, ties by address. With `chain=all`, an asset is listed once, by ' +
    'its mainchain leg if that leg is scored. Stale scores are left out and counted.',
  chain: { kind: 'list', supported: CHAINS },
  query: Type.Object({
    details: flag(
      "Adds each token's name, its depth, and its scores of the last 24 hours. Such a board is at most a minute old.",
    ),
  }),
  response: document('TopScores', {
    chain: chainFilter,
    count: count('Items of `tokens`'),
    stale_count: count(
      'Tokens left out because the newest snapshot that their score is based on is older than the server ' +
        'allows (`stale_after`, 1 hour unless configured)',
    ),
    tokens: Type.Array(
      document('TopScore', {
        address: tokenAddress,
        chain: chainKey,
        symbol: tokenSymbol,
        service_score: Type.Number({
          minimum: 0,
          maximum: 100,
          description: 'Liquidity score of the asset, 0 to 100 with one decimal.',
        }),
        service_current_price: usd('Current price'),
        status: word(['available'], { description: 'Only scored tokens are listed.' }),
        name: Type.Optional(tokenName),
        support_usd: Type.Optional(
          usd('With `details=true`: weighted support, `support` of `/score?explain=true`'),
        ),
        resistance_usd: Type.Optional(
          usd('With `details=true`: weighted resistance, `resistance` of `/score?explain=true`'),
        ),
        depth_2pct_usd: Type.Optional(
          document(
            'TopScoreDepth',
            {
              support: usd('Support within 2% below the price'),
              resistance: usd('Resistance within 2% above the price'),
            },
            {
              description:
                'With `details=true`: depth of all legs that the score is based on, without perps.',
            },
          ),
        ),
        score_24h_ago: Type.Optional(serviceScore),
        scores_24h: Type.Optional(
          Type.Array(serviceScore, {
            description:
              'With `details=true`: the score at each of the last 24 whole hours, oldest first; null if no score.',
          }),
        ),
      }),
      { maxItems: TOP_SCORES },
    ),
  }),
  errors: ['replay_busy'],
});

type ScoreBoard = Static<(typeof getTopScores)['response']>;
export type TopScore = ScoreBoard['tokens'][number];
/** The board of each chain, and the merged board. */
export type Boards = Readonly<Record<ChainFilter, Reply<ScoreBoard>>>;

export function topScoresHandler(
  boards: Board<Boards>,
  detailed: { boards: () => Boards | Promise<Boards> },
): Handler<typeof getTopScores> {
  return ({ chain, query }) =>
    query.details
      ? whenReady(detailed.boards(), (current) => current[chain])
      : boards.use((current) => current[chain]);
}

/** The boards of scores, ranked in the background on request. */
export function topScoreBoards(
  { table }: Pick<LiveTokens, 'table'>,
  logger: Logger,
): Board<Boards> {
  return new Board({
    build: async () => ({ value: boardsOf(await rankTokens(table), topScore) }),
    failure: 'the boards of scores could not be ranked',
    logger,
  });
}

/** The tokens of each board. */
export type Rankings = Readonly<Record<ChainFilter, Ranking>>;

/** The best tokens of each board, found in turns. */
export async function rankTokens(table: TokenTable): Promise<Rankings> {
  const turns = new Turns();
  const own = recordOf(CHAINS, () => new Ranking());
  const merged = new Ranking();
  for (const token of table.all()) {
    await turns.take();
    if (token.standing.status !== 'available') continue;
    own[token.details.chain].add(token);
    if (representsAsset(token, table)) merged.add(token);
  }
  return { ...own, all: merged };
}

/** Whether the token represents its asset: the mainchain leg does if it is available. */
function representsAsset(token: LiveToken, table: TokenTable): boolean {
  if (token.details.chain === 'mainchain') return true;
  return table.leg(token, 'mainchain')?.standing.status !== 'available';
}

/** @param itemOf a token's item; an empty list leaves it out */
export function boardsOf(
  rankings: Rankings,
  itemOf: (token: LiveToken) => TopScore | readonly TopScore[],
): Boards {
  return recordOf([...CHAINS, 'all'], (chain) => {
    const { tokens, staleCount } = rankings[chain];
    const items = tokens.flatMap(itemOf);
    return Reply.kept({ chain, count: items.length, stale_count: staleCount, tokens: items });
  });
}

/** A token's item of a board, without details. */
export function topScore(token: LiveToken): TopScore {
  const { address, chain, symbol } = token.details;
  return {
    address,
    chain,
    symbol,
    service_score: scoreOf(token),
    // An available token has a price: it would be price_unavailable without one.
    service_current_price: currentPriceUsd(token) as number,
    status: 'available',
  };
}

/** The best TOP_SCORES of the tokens added so far, best first, without stale ones. */
class Ranking {
  readonly tokens: LiveToken[] = [];
  staleCount = 0;

  add(token: LiveToken): void {
    if (token.standing.asset?.isStale) {
      this.staleCount++;
      return;
    }
    const { tokens } = this;
    let at = tokens.length;
    while (at > 0 && isBetter(token, tokens[at - 1])) at--;
    if (at === TOP_SCORES) return;
    tokens.splice(at, 0, token);
    if (tokens.length > TOP_SCORES) tokens.pop();
  }
}

const scoreOf = ({ standing }: LiveToken): number => standing.asset?.score.score ?? 0;

/** By score, ties by address ascending. */
function isBetter(a: LiveToken, b: LiveToken): boolean {
  const difference = scoreOf(a) - scoreOf(b);
  return difference > 0 || (difference === 0 && a.details.address < b.details.address);
}
