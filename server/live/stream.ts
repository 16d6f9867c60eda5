/** GET /stream as a WebSocket, and GET /stream/:address as Server-Sent Events (docs/live.md). */
import type { KeySource } from '../../storage/contract.js';
import { BASE_PATH, type PlanCheck } from '../api/endpoint.js';
import { invalidParameter } from '../api/errors.js';
import type { ReadingOptions } from '../api/parameters.js';
import { QueryParameters } from '../api/query.js';
import { admit } from '../api/routes.js';
import { Reply, negotiateForm, notAcceptable, replyDocument } from '../api/replies.js';
import { WEBSOCKET_VERSION } from '../http/request-head.js';
import { ApiError, NOT_STORED } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { negotiateEncoding, negotiateMediaType } from '../http/negotiation.js';
import type { Route } from '../http/router.js';
import { STREAM } from './account.js';
import { ASYNC_DESCRIPTION_PATH, describeLive } from './asyncapi.js';
import { COMMENT, EventWire } from './event-wire.js';
import type { LiveHub } from './hub.js';
import { getStream, SOCKET_PATH } from './parameters.js';
import { CLOSE_CODES, PROTOCOLS } from './protocol.js';

const EVENT_STREAM = 'text/event-stream';
const PING_EVERY_S = 20;
/** The room of a close frame. */
const MAX_REASON_BYTES = 123;
/** The id of the only subscription of an event stream. */
const ONLY_ID = 'stream';

interface StreamOptions {
  hub: LiveHub;
  keys: KeySource;
  checkPlan: PlanCheck;
  reading: ReadingOptions;
}

export function streamRoutes(options: StreamOptions): Route[] {
  const description = Reply.kept(JSON.parse(JSON.stringify(describeLive())) as object, true);
  return [
    {
      method: 'GET',
      path: ASYNC_DESCRIPTION_PATH,
      handle: ({ exchange }) => replyDocument(exchange, description, negotiateForm(exchange)),
    },
    {
      method: 'GET',
      path: SOCKET_PATH,
      handle: ({ exchange }) => openSocket(options, exchange),
    },
    {
      method: 'GET',
      path: BASE_PATH + getStream.path,
      handle: ({ exchange, params }) => openEvents(options, exchange, params.address),
    },
  ];
}

const NO_PARAMETERS: ReadonlySet<string> = new Set();

function openSocket({ hub, keys, checkPlan, reading }: StreamOptions, exchange: Exchange): void {
  const offered = exchange.socketProtocols;
  if (offered === null) {
    admit(exchange, STREAM, keys, checkPlan);
    throw new ApiError(
      400,
      'invalid_parameter',
      `Upgrade: expected the handshake of a WebSocket, version ${WEBSOCKET_VERSION}; for Server-Sent Events, the address follows: /stream/ADDRESS`,
      {
        fields: { parameter: 'Upgrade' },
        headers: [['Sec-WebSocket-Version', WEBSOCKET_VERSION]],
      },
    );
  }
  if (reading.lenientParameters !== true) {
    new QueryParameters(exchange.query).allowOnly(NO_PARAMETERS, 'the handshake of a WebSocket');
  }
  const protocol = offered.find((name) => Object.hasOwn(PROTOCOLS, name)) ?? null;
  const names = Object.keys(PROTOCOLS).join(', ');
  const isKnown = protocol !== null || offered.length === 0;
  const key = exchange.header('x-api-key');
  const format = protocol === null ? 'json' : PROTOCOLS[protocol];
  exchange.openSocket(protocol, (socket) => {
    const connection = hub.connections.add({
      format,
      get waitingBytes() {
        return socket.waitingBytes;
      },
      send: (message) => socket.send(message, format === 'json'),
      keepAliveS: PING_EVERY_S,
      keepAlive: () => socket.ping(),
      close: (code, reason) => socket.close(code, cutReason(reason)),
      cut: () => socket.cut(),
    });
    if (!isKnown) {
      const reason = `Sec-WebSocket-Protocol: expected any of ${names}`;
      hub.connections.end(connection, CLOSE_CODES.policy, reason);
    } else if (key !== '')
      hub.connections.admit(connection, key, 'the one in the x-api-key header');
    if (connection.key !== null) exchange.belongsTo(connection.key.record.id);
    return {
      onMessage: (message, isText) => hub.receive(connection, message, isText),
      onTaken: () => connection.onTaken(),
      onControlFrame: () => hub.onControlFrame(connection),
      onClose: () => hub.connections.forget(connection),
    };
  });
}

function cutReason(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= MAX_REASON_BYTES) return reason;
  // Decoding as a stream leaves out a character that was cut in two.
  const begin = new TextDecoder().decode(bytes.subarray(0, MAX_REASON_BYTES - 3), { stream: true });
  return `${begin}...`;
}

async function openEvents(
  { hub, keys, checkPlan }: StreamOptions,
  exchange: Exchange,
  address: string,
): Promise<void> {
  admit(exchange, STREAM, keys, checkPlan);
  const accept = exchange.header('accept');
  if (negotiateMediaType(accept, [EVENT_STREAM]) === null) {
    throw notAcceptable('Accept', [EVENT_STREAM]);
  }
  if (negotiateEncoding(exchange.header('accept-encoding'), []) === null) {
    throw notAcceptable('Accept-Encoding', ['identity']);
  }
  const last = exchange.header('last-event-id');
  const query = last === '' ? exchange.query : withCursor(exchange.query, last);
  const wire = new EventWire();
  const connection = hub.connections.add(wire);
  exchange.onGone(() => hub.connections.forget(connection));
  try {
    hub.connections.authenticate(
      connection,
      exchange.header('x-api-key'),
      'the one in the x-api-key header',
    );
    await hub.followDepth(connection, ONLY_ID, address, query, true);
  } catch (error) {
    hub.connections.forget(connection);
    throw last === '' ? error : ofHeader(error);
  }
  if (exchange.method === 'HEAD') {
    hub.connections.forget(connection);
    exchange.reply(200, EVENT_HEADERS, null);
    return;
  }
  const stream = exchange.stream(EVENT_HEADERS, COMMENT, () => connection.onTaken());
  if (stream === null) hub.connections.forget(connection);
  else wire.open(stream);
}

const EVENT_HEADERS = [
  ['Content-Type', EVENT_STREAM],
  NOT_STORED,
  // Without this header, nginx would buffer events.
  ['X-Accel-Buffering', 'no'],
] as const;

/** An error about the cursor of `Last-Event-ID` names that. */
function ofHeader(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.body.parameter !== 'cursor') return error;
  return invalidParameter('Last-Event-ID', error.message.replace('cursor: ', ''));
}

/** The query of a client that reconnects: the cursor of its last event replaces `cursor` and `from`. */
function withCursor(query: string, cursor: string): string {
  const rest = query.split('&').filter((pair) => !/^(cursor|from)=/.test(pair) && pair !== '');
  return [...rest, `cursor=${encodeURIComponent(cursor)}`].join('&');
}
