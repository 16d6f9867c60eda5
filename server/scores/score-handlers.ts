/** GET /score/:address, POST /score and GET /top-scores, from memory, in the turn of the request. */
import type { TokenQueue } from '../../storage/contract.js';
import type { AskedToken } from '../api/chain.js';
import type { Handlers } from '../api/endpoint.js';
import { KeptReply } from '../api/replies.js';
import type { Log } from '../log.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import type { LiveToken } from '../tokens/token-table.js';
import {
  explain,
  scoreDocument,
  unknownScoreDocument,
  type ScoreDocument,
} from './score-document.js';
import { BEING_LOADED, NOT_INDEXED, QUEUED } from './standing.js';
import type { getScore } from './get-score.js';
import type { postScore } from './post-score.js';
import type { getTopScores } from './top-scores.js';

export interface ScoreServices {
  tokens: LiveTokens;
  queue: TokenQueue;
  log: Log;
}

interface KeptScore {
  revision: number;
  reply: KeptReply<ScoreDocument>;
}

/** Makes the handlers of the score endpoints. */
export function scoreHandlers(services: ScoreServices): Handlers<{
  getScore: typeof getScore;
  postScore: typeof postScore;
  getTopScores: typeof getTopScores;
}> {
  const { tokens: market } = services;
  // A token's reply is encoded once for as long as nothing of it changes.
  const kept = new WeakMap<LiveToken, KeptScore>();
  const keptScore = (token: LiveToken): KeptReply<ScoreDocument> => {
    const known = kept.get(token);
    if (known?.revision === token.revision) return known.reply;
    const reply = new KeptReply(scoreDocument(token));
    kept.set(token, { revision: token.revision, reply });
    return reply;
  };
  return {
    getScore({ token: asked, query }) {
      const own = market.table.token(asked.address);
      if (own === null) return unknown(services, asked, query.explain);
      // A bridged leg of an asset with a mainchain leg is answered as that mint.
      const token = market.table.leg(own, 'mainchain') ?? own;
      if (!query.explain) return keptScore(token);
      const { asset } = token.standing;
      return { ...scoreDocument(token), explain: asset && explain(asset) };
    },

    postScore({ tokens, invalidAddresses }) {
      const items = new Map<string, ReturnType<typeof batchItem>>();
      for (const { address, chain } of tokens) {
        if (!items.has(address)) items.set(address, batchItem(services, { address, chain }));
      }
      return {
        count: tokens.length,
        tokens: tokens.flatMap(({ address }) => items.get(address) ?? []),
        invalid_addresses: [...invalidAddresses],
      };
    },

    getTopScores: ({ chain }) => market.board(chain),
  };
}

function unknown(services: ScoreServices, asked: AskedToken, explained: boolean): ScoreDocument {
  const document = unknownScoreDocument(asked, askForData(services, asked));
  return explained ? { ...document, explain: null } : document;
}

/** A token of a batch, under its own address and chain. */
function batchItem(services: ScoreServices, asked: AskedToken) {
  const token = services.tokens.table.token(asked.address);
  const standing = token?.standing ?? askForData(services, asked);
  return {
    address: asked.address,
    chain: asked.chain,
    symbol: token?.details.symbol ?? null,
    service_score: standing.asset?.score.score ?? null,
    status: standing.status,
  };
}

/** The standing of a token that is not in memory; a mint that nothing has named is queued. */
function askForData({ tokens: market, queue, log }: ScoreServices, { chain, address }: AskedToken) {
  if (market.hasRecord(chain, address)) return BEING_LOADED;
  if (chain === 'evmchain') return NOT_INDEXED;
  if (queue.request(chain, address)) log.info('token queued', { chain, address });
  return QUEUED;
}
