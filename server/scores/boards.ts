/** The boards of GET /top-scores, kept ready. */
import type { Static } from 'typebox';
import { CHAINS, type Chain } from '../../compute/market.js';
import type { ChainFilter } from '../api/chain.js';
import { TOP_SCORES, type getTopScores } from './top-scores.js';
import { KeptReply } from '../api/replies.js';
import { currentPriceUsd, type TokenTable, type LiveToken } from '../tokens/token-table.js';

type Board = Static<(typeof getTopScores)['response']>;

/** The best of the tokens seen so far, best first. */
class Ranking {
  readonly tokens: LiveToken[] = [];

  add(token: LiveToken): void {
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

/** By chain, and the merged one. */
export type TopScoreBoards = Readonly<Record<ChainFilter, KeptReply<Board>>>;

export const EMPTY_BOARDS: TopScoreBoards = {
  mainchain: boardOf('mainchain', []),
  evmchain: boardOf('evmchain', []),
  all: boardOf('all', []),
};

/** Ranks every token: one pass, however many there are. */
export function topScoreBoards(state: TokenTable): TopScoreBoards {
  const own = Object.fromEntries(CHAINS.map((chain) => [chain, new Ranking()])) as Record<
    Chain,
    Ranking
  >;
  const merged = new Ranking();
  for (const token of state.all()) {
    if (token.standing.status !== 'available') continue;
    own[token.details.chain].add(token);
    if (standsForAsset(token, state)) merged.add(token);
  }
  return {
    mainchain: boardOf('mainchain', own.mainchain.tokens),
    evmchain: boardOf('evmchain', own.evmchain.tokens),
    all: boardOf('all', merged.tokens),
  };
}

/** Of an asset's available legs the mainchain one stands for it, where there is one. */
function standsForAsset(token: LiveToken, state: TokenTable): boolean {
  if (token.details.chain === 'mainchain') return true;
  return state.leg(token, 'mainchain')?.standing.status !== 'available';
}

function boardOf(chain: ChainFilter, tokens: readonly LiveToken[]): KeptReply<Board> {
  return new KeptReply<Board>({
    chain,
    count: tokens.length,
    tokens: tokens.map((token) => ({
      address: token.details.address,
      chain: token.details.chain,
      symbol: token.details.symbol,
      service_score: scoreOf(token),
      // An available token has a price: it would be price_unavailable without one.
      service_current_price: currentPriceUsd(token) as number,
      status: 'available',
    })),
  });
}
