/** Finds the route of a request and turns failures into replies. */
import { isDamage } from '../../compute/damage.js';
import { PoolUnavailableError } from '../../compute/scheduler.js';
import { ArchiveUnavailableError } from '../../storage/archive/objects.js';
import { StoreUnavailableError } from '../../storage/errors.js';
import type { Logger } from '../logger.js';
import { ApiError, archiveUnavailable, damagedData, internalError, replayBusy } from './errors.js';
import type { Exchange } from './exchange.js';

type RouteMethod = 'GET' | 'POST';

interface RequestContext {
  exchange: Exchange;
  /** The path's `:name` segments, percent-decoded; as sent if they cannot be decoded. */
  params: Readonly<Record<string, string>>;
  /**
   * Reads the body. Call it before the handler first awaits anything, but after the key is checked: a body that is not
   * read takes no memory. Rejects with ApiError 413.
   */
  readBody: () => Promise<Uint8Array>;
}

export interface Route {
  /** A GET route answers HEAD too. */
  method: RouteMethod;
  /** Path with `:name` for variable segments, which are never empty. */
  path: string;
  /** Replies, or throws; an ApiError becomes the reply. */
  handle: (context: RequestContext) => void | Promise<void>;
  /** Maximum size of the request body; default: the route takes none. */
  maxBodyBytes?: number;
}

/** What the routes' paths have in common up to a segment. */
interface RouteNode {
  /** Segments that may follow. A path with one of them does not match a variable. */
  next: Map<string, RouteNode>;
  variable: { name: string; node: RouteNode } | null;
  /** Routes whose paths end here, by method. */
  routes: Map<string, Route>;
}

const routeNode = (): RouteNode => ({ next: new Map(), variable: null, routes: new Map() });

/** A tree: finding a path's routes takes a look-up for each segment, however many routes there are. */
function treeOf(routes: readonly Route[]): RouteNode {
  const root = routeNode();
  for (const route of routes) {
    let node = root;
    for (const segment of route.path.split('/')) {
      if (segment.startsWith(':')) {
        node.variable ??= { name: segment.slice(1), node: routeNode() };
        ({ node } = node.variable);
        continue;
      }
      let next = node.next.get(segment);
      if (next === undefined) node.next.set(segment, (next = routeNode()));
      node = next;
    }
    node.routes.set(route.method, route);
  }
  return root;
}

/**
 * Makes the function that answers every request. `onUnrouted` is called before a request without a
 * route gets its 404 or 405, and may throw another ApiError.
 */
export function createRouter(
  routes: readonly Route[],
  logger: Logger,
  onUnrouted: (exchange: Exchange) => void = () => undefined,
): (exchange: Exchange) => void {
  const failures = new Failures(logger);
  const tree = treeOf(routes);
  return (exchange) => {
    let pending: void | Promise<void>;
    try {
      pending = dispatch(tree, exchange, onUnrouted);
    } catch (error) {
      failures.reply(exchange, error);
      return;
    }
    pending?.catch((error: unknown) => failures.reply(exchange, error));
  };
}

function dispatch(
  tree: RouteNode,
  exchange: Exchange,
  onUnrouted: (exchange: Exchange) => void,
): void | Promise<void> {
  const params: Record<string, string> = {};
  const found = routesOf(tree, exchange.path, params);
  const route = found.get(exchange.method === 'HEAD' ? 'GET' : exchange.method);
  if (route !== undefined) {
    exchange.route = route.path;
    const readBody = () => exchange.readBody(route.maxBodyBytes ?? 0);
    return route.handle({ exchange, params, readBody });
  }
  onUnrouted(exchange);
  if (found.size > 0) throw methodNotAllowed([...found.keys()]);
  throw new ApiError(404, 'not_found', 'There is no such endpoint');
}

const NO_ROUTES: RouteNode['routes'] = new Map();

/** The routes that match a path, by method, and in `params` its variable segments. */
function routesOf(
  tree: RouteNode,
  path: string,
  params: Record<string, string>,
): RouteNode['routes'] {
  let node = tree;
  for (let from = 0; from <= path.length;) {
    const slash = path.indexOf('/', from);
    const segment = path.slice(from, slash < 0 ? path.length : slash);
    from = slash < 0 ? Infinity : slash + 1;
    const next = node.next.get(segment);
    if (next !== undefined) {
      node = next;
      continue;
    }
    if (node.variable === null || segment === '') return NO_ROUTES;
    params[node.variable.name] = decoded(segment);
    ({ node } = node.variable);
  }
  return node.routes;
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function methodNotAllowed(methods: readonly string[]): ApiError {
  const allow = methods.flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : one)).join(', ');
  return new ApiError(405, 'method_not_allowed', `This endpoint allows ${allow}`, {
    headers: [['Allow', allow]],
  });
}

/** Interval between log lines about requests refused with 503. */
const BUSY_LOG_MS = 10_000;

/** Turns failures into replies. */
class Failures {
  /** Requests refused with 503 since the last such line. */
  private refused = 0;
  private loggedMs = -Infinity;

  constructor(private readonly logger: Logger) {}

  /** Logs any failure other than an ApiError; its client only gets the request's id. */
  reply(exchange: Exchange, error: unknown): void {
    if (error instanceof ApiError) {
      exchange.replyError(error);
      return;
    }
    if (error instanceof PoolUnavailableError || error instanceof StoreUnavailableError) {
      this.logRefusal(error);
      const isArchive = error instanceof ArchiveUnavailableError;
      exchange.replyError(isArchive ? archiveUnavailable() : replayBusy());
      return;
    }
    this.logger.error('request failed', { request_id: exchange.id, path: exchange.path }, error);
    exchange.replyError(isDamage(error) ? damagedData(exchange.id) : internalError(exchange.id));
  }

  private logRefusal({ message }: Error): void {
    this.refused++;
    const nowMs = performance.now();
    if (nowMs - this.loggedMs < BUSY_LOG_MS) return;
    this.logger.warn('requests get 503', { requests: this.refused, cause: message });
    this.refused = 0;
    this.loggedMs = nowMs;
  }
}
