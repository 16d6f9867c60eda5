/** GET /dlmm/:address, /dlmm-pools and /lp-cheat-sheet, from the boards in memory. */
import type { Static } from 'typebox';
import type { LpDenominator, LpWindow } from '../../compute/lp/fee-density.js';
import type { AskedToken } from '../api/chain.js';
import type { Call } from '../api/endpoint.js';
import { DEFAULT_MIN_TVL_USD, MAX_BOARD_ROWS, type getDlmmPools } from './dlmm-pools.js';
import type { getLpCheatSheet } from './lp-cheat-sheet.js';
import type { LpHandlers } from '../api/handlers.js';
import { KeptReplies } from '../api/replies.js';
import type { TokenTable } from '../tokens/token-table.js';
import type { DensityBoard } from './density-board-builder.js';
import type { LpTools } from './lp-tools.js';
import type { PoolBoard } from './pool-board.js';
import {
  boardRow,
  poolsDocument,
  type BoardDocument,
  type PoolsDocument,
} from './pool-document.js';

type DensityDocument = Static<(typeof getLpCheatSheet)['response']>;

/** Rows of all replies that are kept, each some 1 KB with its encoded forms. */
const MAX_KEPT_ROWS = 50_000;
/** What a reply without rows counts as. */
const REPLY_OVERHEAD_ROWS = 2;

/** A token with more pools than this gets its reply renewed only so often. */
const MANY_POOLS = 100;
const MANY_POOLS_EVERY_MS = 500;

export interface LpServices {
  lp: LpTools;
  state: Pick<TokenTable, 'token'>;
  /** Mints, the one that is quote before all others first. */
  quotes: readonly string[];
}

const keptRows = <T extends { data: readonly unknown[] }>() =>
  new KeptReplies<T>({
    sizeOf: ({ data }) => data.length + REPLY_OVERHEAD_ROWS,
    maxSize: MAX_KEPT_ROWS,
  });

/** Makes the handlers of the LP tools. */
export function lpHandlers({ lp, state, quotes }: LpServices): LpHandlers {
  const boards = keptRows<BoardDocument>();
  const densities = keptRows<DensityDocument>();
  const tokens = new KeptReplies<PoolsDocument>({
    sizeOf: ({ pools }) => pools.length,
    maxSize: MAX_KEPT_ROWS,
  });
  const tokenReply = (board: PoolBoard, token: AskedToken) => {
    const make = () => poolsDocument(token, board, state);
    const pools = board.book.ofMint.get(token.address)?.length ?? 0;
    if (pools <= MANY_POOLS) return make();
    const period = Math.floor(performance.now() / MANY_POOLS_EVERY_MS);
    return tokens.get([board.revision, period, token.address].join(), make);
  };
  const poolReply = (board: PoolBoard, call: Call<typeof getDlmmPools>) => {
    const { chain } = call;
    const query = poolQuery(call);
    const { period, sort, minTvlUsd, mint } = query;
    const key = [board.revision, lp.labels.revision, chain, period, sort, minTvlUsd, mint].join();
    return boards.get(key, () => {
      const rows = board.best(query);
      const data = rows.map((row) => boardRow(row, board, quotes, state));
      return {
        chain: 'mainchain',
        period,
        sort,
        minTvl: minTvlUsd,
        mint,
        count: data.length,
        data,
      };
    });
  };
  const densityReply = (board: DensityBoard, { window, denominator, limit }: DensityQuery) => {
    const key = [board.revision, lp.labels.revision, window, denominator, limit].join();
    return densities.get(key, () => densityDocument(board, { window, denominator, limit }, state));
  };
  return {
    getDlmm: ({ token }) => withBoard(lp.poolBoard(), (board) => tokenReply(board, token)),
    getDlmmPools: (call) => withBoard(lp.poolBoard(), (board) => poolReply(board, call)),
    getLpCheatSheet: ({ query }) =>
      withBoard(lp.densityBoard(), (board) => densityReply(board, query)),
  };
}

/** In the turn of the request, but for requests that come before the first board. */
function withBoard<B, T>(board: B | Promise<B>, reply: (board: B) => T): T | Promise<T> {
  return board instanceof Promise ? board.then(reply) : reply(board);
}

function poolQuery({ query, token }: Call<typeof getDlmmPools>) {
  const mint = token?.address ?? null;
  const minTvlUsd = query.minTvl ?? (mint === null ? DEFAULT_MIN_TVL_USD : 0);
  return { period: query.period, sort: query.sort, minTvlUsd, mint, maxRows: MAX_BOARD_ROWS };
}

interface DensityQuery {
  window: LpWindow;
  denominator: LpDenominator;
  limit: number;
}

function densityDocument(
  { boards, addresses }: DensityBoard,
  { window, denominator, limit }: DensityQuery,
  state: LpServices['state'],
): DensityDocument {
  const rows = boards[window][denominator];
  const data = Array.from(rows.token.subarray(0, limit), (index, row) => {
    const address = addresses[index];
    const details = state.token(address)?.details;
    return {
      rank: row + 1,
      address,
      chain: 'mainchain' as const,
      symbol: details?.symbol ?? null,
      name: details?.name ?? null,
      icon: details?.icon ?? null,
      organic_volume: rows.organicVolumeUsd[row],
      denom_liquidity_usd: rows.denominatorUsd[row],
      fee_density: rows.feeDensity[row],
    };
  });
  return { chain: 'mainchain', window, denominator, limit, count: data.length, data };
}
