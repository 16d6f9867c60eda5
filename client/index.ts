/**
 * `@fathom/client`, also `fathom/client`: a client of the API for Node 20+ and browsers.
 *
 *     const fathom = fathomClient({ url: 'http://127.0.0.1:8080', key });
 *     const { service_score } = await fathom.getScore({ address });
 *     for await (const page of fathom.replay(address, { from: '-7d' })) ...
 */
import { type Cell, cellsOf, type Snapshot, snapshotsOf } from './cells.js';
import type { ReplayPage } from './generated/api.js';
import { follow, type FollowOptions, type FollowParameters, type LiveMessage } from './follow.js';
import { type ClientOptions, Http, type RequestOptions } from './http.js';
import { type Methods, methodsOf, type Result } from './methods.js';
import {
  type ArrowPage,
  arrowPages,
  jsonPages,
  type ReplayOptions,
  type ReplayParameters,
} from './replay.js';
import { type SeriesParameters, seriesReplies } from './series.js';
import { isAddress, type NamedAddress, Symbols } from './symbols.js';

export type * from './generated/api.js';
export type { Cell, Group, MarketType, Snapshot, Tier } from './cells.js';
export { type ErrorFields, FathomError, type WaitKind } from './errors.js';
export type {
  FollowOptions,
  FollowParameters,
  LiveDeleted,
  LiveMessage,
  LiveNotice,
  LiveSnapshots,
} from './follow.js';
export type { ClientOptions, RequestOptions, Wait } from './http.js';
export type { OperationId, Parameters, Result, Time } from './methods.js';
export {
  type ArrowPage,
  DEFAULT_AHEAD,
  MAX_AHEAD,
  type ReplayOptions,
  type ReplayParameters,
} from './replay.js';
export type { SeriesParameters } from './series.js';
export {
  type NamedAddress,
  type NamedToken,
  namedToken,
  pickToken,
  SymbolError,
  type TokenCandidate,
} from './symbols.js';

/**
 * One method per operation, and depth history as iterators. Where they take a token's address, they also take
 * CHAIN:ADDRESS, its symbol, or CHAIN:SYMBOL. All throw FathomError; SymbolError if no single token has the symbol.
 */
export interface FathomClient extends Methods {
  /** The token that a text names. A symbol costs a request the first time; the client remembers up to 1,000. */
  findToken(token: string, options?: RequestOptions): Promise<NamedAddress>;
  /**
   * Pages of a window, in order, fetched in parallel. To continue after an interruption, pass the last
   * page's `next_from` as `from` and its `window.to` as `to`.
   */
  replay(
    token: string,
    parameters?: ReplayParameters,
    options?: ReplayOptions,
  ): AsyncGenerator<ReplayPage>;
  /** The same as Arrow tables, one row per cell. */
  replayArrow(
    token: string,
    parameters?: ReplayParameters,
    options?: ReplayOptions,
  ): AsyncGenerator<ArrowPage>;
  /** The snapshots of the pages. */
  snapshots(
    token: string,
    parameters?: ReplayParameters,
    options?: ReplayOptions,
  ): AsyncGenerator<Snapshot>;
  /** The cells of the pages. */
  cells(
    token: string,
    parameters?: ReplayParameters,
    options?: ReplayOptions,
  ): AsyncGenerator<Cell>;
  /**
   * Replies of a window, in order, all with the step of the first one. To continue after an interruption, pass the
   * last reply's `next_from` as `from`, its `window.to` as `to`, and its `step`.
   */
  depthSeries(
    token: string,
    parameters?: SeriesParameters,
    options?: RequestOptions,
  ): AsyncGenerator<Result<'getDepthSeries'>>;
  /**
   * A token's depth: history from `from`, then each new snapshot, revision and deletion, for as long as the
   * caller reads. Reconnects by itself; to continue later, pass the last message's `cursor`.
   */
  follow(
    token: string,
    parameters?: FollowParameters,
    options?: FollowOptions,
  ): AsyncGenerator<LiveMessage>;
}

/** @throws TypeError if an option is wrong */
export function fathomClient(options: ClientOptions): FathomClient {
  const http = new Http(options);
  const symbols = new Symbols(http);
  const addressOf = async (token: string, options: RequestOptions, chain?: unknown) =>
    (await symbols.find(token, options, chain)).address;
  type Begin<T, P> = (
    http: Http,
    address: string,
    given: P,
    more: RequestOptions,
  ) => AsyncGenerator<T>;
  async function* afterLookup<T, P>(
    begin: Begin<T, P>,
    token: string,
    given: P,
    more: RequestOptions,
  ): AsyncGenerator<T> {
    yield* begin(http, await addressOf(token, more), given, more);
  }
  /** Iterates over what `begin` returns for the token's address. */
  const of = <T, P>(token: string, given: P, more: RequestOptions, begin: Begin<T, P>) =>
    token === '' || isAddress(token)
      ? begin(http, token, given, more)
      : afterLookup(begin, token, given, more);
  const replay: FathomClient['replay'] = (token, parameters = {}, given = {}) =>
    of(token, parameters, given, jsonPages);
  const snapshots: FathomClient['snapshots'] = (...request) => snapshotsOf(replay(...request));
  return {
    ...methodsOf(http, addressOf),
    findToken: (token, given = {}) => symbols.find(token, given),
    replay,
    replayArrow: (token, parameters = {}, given = {}) => of(token, parameters, given, arrowPages),
    snapshots,
    cells: (...request) => cellsOf(snapshots(...request)),
    depthSeries: (token, parameters = {}, given = {}) =>
      of(token, parameters, given, seriesReplies),
    follow: (token, parameters = {}, given = {}) => of(token, parameters, given, follow),
  };
}
