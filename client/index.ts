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

/** One method per operation, and depth history as iterators. All throw FathomError. */
export interface FathomClient extends Methods {
  /**
   * Pages of a window, in order, fetched in parallel. To continue after an interruption, pass the last
   * page's `next_from` as `from` and its `window.to` as `to`.
   */
  replay(
    address: string,
    parameters?: ReplayParameters,
    options?: ReplayOptions,
  ): AsyncGenerator<ReplayPage>;
  /** The same as Arrow tables, one row per cell. */
  replayArrow(
    address: string,
    parameters?: ReplayParameters,
    options?: ReplayOptions,
  ): AsyncGenerator<ArrowPage>;
  /** The snapshots of the pages. */
  snapshots(
    address: string,
    parameters?: ReplayParameters,
    options?: ReplayOptions,
  ): AsyncGenerator<Snapshot>;
  /** The cells of the pages. */
  cells(
    address: string,
    parameters?: ReplayParameters,
    options?: ReplayOptions,
  ): AsyncGenerator<Cell>;
  /**
   * Replies of a window, in order, all with the step of the first one. To continue after an interruption, pass the
   * last reply's `next_from` as `from`, its `window.to` as `to`, and its `step`.
   */
  depthSeries(
    address: string,
    parameters?: SeriesParameters,
    options?: RequestOptions,
  ): AsyncGenerator<Result<'getDepthSeries'>>;
  /**
   * A token's depth: history from `from`, then each new snapshot, revision and deletion, for as long as the
   * caller reads. Reconnects by itself; to continue later, pass the last message's `cursor`.
   */
  follow(
    address: string,
    parameters?: FollowParameters,
    options?: FollowOptions,
  ): AsyncGenerator<LiveMessage>;
}

/** @throws TypeError if an option is wrong */
export function fathomClient(options: ClientOptions): FathomClient {
  const http = new Http(options);
  const replay: FathomClient['replay'] = (address, parameters = {}, given = {}) =>
    jsonPages(http, address, parameters, given);
  const snapshots: FathomClient['snapshots'] = (...request) => snapshotsOf(replay(...request));
  return {
    ...methodsOf(http),
    replay,
    replayArrow: (address, parameters = {}, given = {}) =>
      arrowPages(http, address, parameters, given),
    snapshots,
    cells: (...request) => cellsOf(snapshots(...request)),
    depthSeries: (address, parameters = {}, given = {}) =>
      seriesReplies(http, address, parameters, given),
    follow: (address, parameters = {}, given = {}) => follow(http, address, parameters, given),
  };
}
