/**
 * Runs before the tests of each file: fetch() uses a connection once, and reads replies as they come.
 *
 * A server closes a connection that has been idle for 10 s; uWebSockets.js has no setting for that. The process of a
 * test, on a busy machine, may take longer between two requests or for a reply that it is still unpacking. Then fetch()
 * sends the next request on the closed connection, or takes the reply, which arrived in full, for one that was cut off.
 */
interface Handler {
  onData?(chunk: Uint8Array): boolean;
  /** In Node 24, in place of onData(). */
  onResponseData?(controller: { pause(): void }, chunk: Uint8Array): void;
}
type Dispatch = (options: object, handler: Handler) => boolean;
interface Dispatcher {
  compose(interceptor: (dispatch: Dispatch) => Dispatch): Dispatcher;
}
/** Node's fetch() and the library undici share this one. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const found = globalThis as { [DISPATCHER]?: Dispatcher; steadyDispatcher?: Dispatcher };

if (found.steadyDispatcher === undefined) {
  // Node makes its dispatcher when something of fetch() is first used.
  void new Response();
  found.steadyDispatcher = found[DISPATCHER]?.compose((dispatch) => (options, handler) => {
    const take = handler.onData?.bind(handler);
    const takeData = handler.onResponseData?.bind(handler);
    if (takeData !== undefined) {
      const steady = { pause: () => undefined };
      handler.onResponseData = (_controller, chunk) => takeData(steady, chunk);
    } else if (take !== undefined) {
      handler.onData = (chunk) => {
        take(chunk);
        return true;
      };
    } else throw new Error('this fetch() cannot be told not to pause');
    return dispatch({ ...options, reset: true }, handler);
  });
  if (found.steadyDispatcher === undefined) throw new Error('fetch() has another dispatcher');
  found[DISPATCHER] = found.steadyDispatcher;
}
