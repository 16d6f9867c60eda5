/** Depth over time, reply by reply. */
import { noProgress } from './errors.js';
import type { Http, RequestOptions } from './http.js';
import { OPERATIONS } from './generated/api.js';
import { type Parameters, pathWith, type Result } from './methods.js';

/** Parameters of `/depth-series/:address` besides the address. */
export type SeriesParameters = Omit<Parameters<'getDepthSeries'>, 'address'>;

/** The window's replies in order, all with the step of the first one. */
export async function* seriesReplies(
  http: Http,
  address: string,
  parameters: SeriesParameters,
  options: RequestOptions,
): AsyncGenerator<Result<'getDepthSeries'>> {
  let rest: SeriesParameters = parameters;
  let before = -Infinity;
  for (;;) {
    const path = pathWith(OPERATIONS.getDepthSeries.path, { address, ...rest });
    const reply = await http.json<Result<'getDepthSeries'>>({ method: 'GET', path, ...options });
    options.signal?.throwIfAborted();
    yield reply;
    const { next_from: from, step, window, t } = reply;
    if (from === null) return;
    if (from <= before || t.length === 0) throw noProgress(from);
    before = from;
    rest = { ...parameters, from, to: window.to, step };
  }
}
