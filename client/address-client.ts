/** A client to which tokens are addresses, as in the API. `index.ts` adds symbols; the explorer does without. */
import { type Cell, cellsOf, type Snapshot, snapshotsOf } from './cells.js';
import { follow, type FollowOptions, type FollowParameters, type LiveMessage } from './follow.js';
import type { ReplayPage } from './generated/api.js';
import type { Http, RequestOptions } from './http.js';
import { type Methods, methodsOf, type Result } from './methods.js';
import {
  type ArrowPage,
  arrowPages,
  jsonPages,
  type ReplayOptions,
  type ReplayParameters,
} from './replay.js';
import { type SeriesParameters, seriesReplies } from './series.js';

/** One method per operation, and depth history as iterators. All throw FathomError. */
export interface AddressClient extends Methods {
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

export function addressClient(http: Http): AddressClient {
  const replay: AddressClient['replay'] = (address, parameters = {}, given = {}) =>
    jsonPages(http, address, parameters, given);
  const snapshots: AddressClient['snapshots'] = (...request) => snapshotsOf(replay(...request));
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
