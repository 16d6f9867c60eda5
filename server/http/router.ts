/** Finds the route of a request and turns failures into replies. */
import { isDamage } from '../../compute/damage.js';
import { PoolUnavailableError } from '../../compute/scheduler.js';
import { StoreUnavailableError } from '../../storage/errors.js';
import type { Log } from '../log.js';
import { ApiError, damagedData, internalError, replayBusy } from './errors.js';
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

interface CompiledRoute extends Route {
  segments: string[];
}

/**
 * Makes the function that answers every request. `onUnrouted` is called before a request without a
 * route gets its 404 or 405, and may throw another ApiError.
 */
export function createRouter(
  routes: readonly Route[],
  log: Log,
  onUnrouted: (exchange: Exchange) => void = () => undefined,
): (exchange: Exchange) => void {
  const failures = new Failures(log);
  const compiled = routes.map((route) => ({ ...route, segments: route.path.split('/') }));
  return (exchange) => {
    let pending: void | Promise<void>;
    try {
      pending = dispatch(compiled, exchange, onUnrouted);
    } catch (error) {
      failures.reply(exchange, error);
      return;
    }
    pending?.catch((error: unknown) => failures.reply(exchange, error));
  };
}

function dispatch(
  routes: readonly CompiledRoute[],
  exchange: Exchange,
  onUnrouted: (exchange: Exchange) => void,
): void | Promise<void> {
  const segments = exchange.path.split('/');
  const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
  const allowed: string[] = [];
  for (const route of routes) {
    const params = match(route.segments, segments);
    if (params === null) continue;
    if (route.method === method) {
      exchange.route = route.path;
      const readBody = () => exchange.readBody(route.maxBodyBytes ?? 0);
      return route.handle({ exchange, params, readBody });
    }
    allowed.push(...(route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
  }
  onUnrouted(exchange);
  if (allowed.length > 0) throw methodNotAllowed(allowed);
  throw new ApiError(404, 'not_found', 'There is no such endpoint');
}

/** The variable segments of a path; null if the path does not match. */
function match(pattern: readonly string[], path: readonly string[]): Record<string, string> | null {
  if (pattern.length !== path.length) return null;
  // Compares from the end, because all paths begin alike.
  for (let i = path.length - 1; i >= 0; i--) {
    if (pattern[i] !== path[i] && (!isVariable(pattern[i]) || path[i] === '')) return null;
  }
  const params: Record<string, string> = {};
  for (let i = 0; i < path.length; i++) {
    if (isVariable(pattern[i])) params[pattern[i].slice(1)] = decoded(path[i]);
  }
  return params;
}

const isVariable = (segment: string): boolean => segment.startsWith(':');

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function methodNotAllowed(allowed: readonly string[]): ApiError {
  const allow = allowed.join(', ');
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

  constructor(private readonly log: Log) {}

  /** Logs any failure other than an ApiError; its client only gets the request's id. */
  reply(exchange: Exchange, error: unknown): void {
    if (error instanceof ApiError) {
      exchange.replyError(error);
      return;
    }
    if (error instanceof PoolUnavailableError || error instanceof StoreUnavailableError) {
      this.logRefusal(error);
      exchange.replyError(replayBusy());
      return;
    }
    this.log.error('request failed', { request_id: exchange.id, path: exchange.path }, error);
    exchange.replyError(isDamage(error) ? damagedData(exchange.id) : internalError(exchange.id));
  }

  private logRefusal({ message }: Error): void {
    this.refused++;
    const nowMs = performance.now();
    if (nowMs - this.loggedMs < BUSY_LOG_MS) return;
    this.log.warn('requests get 503', { requests: this.refused, cause: message });
    this.refused = 0;
    this.loggedMs = nowMs;
  }
}
