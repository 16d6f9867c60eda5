/** The HTTP side of a server: routes of the API, the explorer and operators, and the ports that serve them. */
import type { KeySource } from '../storage/contract.js';
import { docsRoutes } from './api/docs.js';
import { BASE_PATH, type Handlers, type PlanCheck, unlimited } from './api/endpoint.js';
import { explorerRoutes } from './api/explorer.js';
import { POSITION_HEADER, RESPONSE_HEADER_NAMES } from './api/openapi.js';
import type { ReadingOptions } from './api/parameters.js';
import { admitUnrouted, apiRoutes, hasKey } from './api/routes.js';
import { ENDPOINTS } from './endpoints.js';
import { withCors } from './http/cors.js';
import { connectionLimits } from './http/connection-limit.js';
import type { HttpEngine } from './http/engine.js';
import { loadEngine } from './http/load-engine.js';
import type { Exchange } from './http/exchange.js';
import { createRouter, type Route } from './http/router.js';
import { HTTP_LIMITS, type HttpLimits, startHttpServer } from './http/server.js';
import { type AddressLimitOptions, withAddressLimit } from './limits/addresses.js';
import type { LiveHub } from './live/hub.js';
import { SOCKET_PATH } from './live/parameters.js';
import { streamRoutes } from './live/stream.js';
import type { Logger } from './logger.js';
import type { Metrics } from './operations/metrics.js';
import { type Checks, operationsRoutes, type ServerState } from './operations/operations.js';
import { RequestLog } from './operations/request-log.js';

interface ServerOptions {
  keys: KeySource;
  handlers: Handlers<typeof ENDPOINTS>;
  /** Default: no limits. */
  checkPlan?: PlanCheck;
  reading?: ReadingOptions;
  /** Epoch seconds at which the server's clock is frozen; default: it runs. */
  frozenS?: number;
  /** A limit by client address; default: none. */
  addressLimit?: AddressLimitOptions | null;
  /** Origins of the pages that may read replies; default: none. */
  corsOrigins?: readonly string[];
  /** An address or name of this machine. */
  host: string;
  /** 0: any free port. */
  port: number;
  logger: Logger;
  limits?: HttpLimits;
  /** Default: uWebSockets.js. */
  engine?: HttpEngine;
  operations?: Operations;
  /** Default: no live connections. */
  hub?: LiveHub;
  /** Position of the last entry of the log that the store has applied. */
  position?: () => number;
}

/** Metrics and health checks, and their port. */
interface Operations {
  metrics: Metrics;
  checks: Checks;
  state?: () => ServerState;
  /** A separate port; null: the API's port. */
  admin: { host: string; port: number } | null;
}

export interface RunningServer {
  url: string;
  port: number;
  /** Stops listening, lets requests in progress end within a deadline, then cuts the rest. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts the server and logs its URL once it listens.
 * @throws Error that names port and host if it cannot listen there
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, logger, operations, limits = HTTP_LIMITS } = options;
  const { keys, checkPlan = unlimited } = options;
  const forOperators = operations
    ? operationsRoutes(operations.checks, operations.metrics, logger, operations.state)
    : [];
  const admin = operations?.admin ?? null;
  const routes = [...routesOf(options), ...(admin === null ? forOperators : [])];
  const router = createRouter(routes, logger, admitUnrouted(keys, checkPlan));
  const { addressLimit = null } = options;
  const limited = addressLimit === null ? router : withAddressLimit(router, addressLimit);
  const api = withCors(withPosition(limited, options.position), {
    origins: options.corsOrigins ?? [],
    exposedHeaders: RESPONSE_HEADER_NAMES,
  });
  const below = `${BASE_PATH}/`;
  const handle = (exchange: Exchange): void =>
    exchange.path.startsWith(below) ? api(exchange) : router(exchange);
  const requestLog = new RequestLog(logger);
  const engine = options.engine ?? (await loadEngine('uws', logger));
  const connections = connectionLimits(logger);
  const server = await startHttpServer({
    engine,
    host,
    port: options.port,
    handle,
    logger,
    limits,
    connections: connections.api,
    ...(options.hub === undefined ? {} : { socketPath: SOCKET_PATH }),
    keepsBody: (exchange) => hasKey(keys, exchange),
    onRequestEnd: (exchange) => {
      operations?.metrics.requestEnded(exchange);
      requestLog.ended(exchange);
    },
  });
  operations?.metrics.follow({
    requestsInFlight: () => server.live,
    replyBytesInFlight: () => server.bytesInFlight,
  });
  const servers = [server];
  if (admin !== null) {
    try {
      const forAdmin = {
        engine,
        ...admin,
        handle: createRouter(forOperators, logger),
        logger,
        limits,
        connections: connections.admin,
      };
      servers.push(
        await startHttpServer({
          ...forAdmin,
          onRequestEnd: (exchange) => requestLog.ended(exchange),
        }),
      );
    } catch (error) {
      await server.close();
      throw error;
    }
  }
  const url = urlOf(host, server.port);
  logger.always(
    'listening',
    admin === null ? { url } : { url, admin_url: urlOf(admin.host, servers[1].port) },
  );
  return {
    url,
    port: server.port,
    close: async () => {
      options.hub?.close();
      // The operators' port closes last: it answers while the API drains.
      for (const each of servers) await each.close();
      requestLog.close();
    },
  };
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Adds the node's position to every reply: the position from before the reply was made. */
function withPosition(
  handle: (exchange: Exchange) => void,
  position?: () => number,
): (exchange: Exchange) => void {
  if (position === undefined) return handle;
  return (exchange) => {
    exchange.addHeader(POSITION_HEADER, String(position()));
    handle(exchange);
  };
}

function routesOf(options: ServerOptions): Route[] {
  const { keys, handlers, checkPlan = unlimited, reading = {}, hub, frozenS } = options;
  const live = hub === undefined ? [] : streamRoutes({ hub, keys, checkPlan, reading });
  const api = apiRoutes(ENDPOINTS, handlers, { keys, checkPlan, reading });
  return [...api, ...live, ...docsRoutes(Object.values(ENDPOINTS)), ...explorerRoutes({ frozenS })];
}
