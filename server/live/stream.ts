/** GET /stream as a WebSocket, and GET /stream/:address as Server-Sent Events (docs/live.md). */
import type { KeySource } from '../../storage/contract.js';
import { BASE_PATH, type PlanCheck } from '../api/endpoint.js';
import type { ReadingOptions } from '../api/parameters.js';
import { QueryParameters } from '../api/query.js';
import { admit } from '../api/routes.js';
import { KeptReply, negotiateForm, notAcceptable, replyDocument } from '../api/replies.js';
import { type ReplyStream, WEBSOCKET_VERSION } from '../http/engine.js';
import { ApiError, NOT_STORED } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { negotiateEncoding, negotiateMediaType } from '../http/negotiation.js';
import type { Route } from '../http/router.js';
import { STREAM } from './account.js';
import { ASYNC_DESCRIPTION_PATH, describeLive } from './asyncapi.js';
import type { LiveHub } from './hub.js';
import { getStream, SOCKET_PATH } from './parameters.js';
import { CLOSE_CODES, encodeMessage, PROTOCOLS } from './protocol.js';

const EVENT_STREAM = 'text/event-stream';
/** How long a client of Server-Sent Events waits before it connects again. */
const RETRY_MS = 2_000;
const PING_EVERY_S = 20;
const COMMENT_EVERY_S = 15;
/** A comment, which clients ignore. */
const COMMENT = Buffer.from(':\n\n');
/** The id of the only subscription of an event stream. */
const ONLY_ID = 'stream';

interface StreamOptions {
  hub: LiveHub;
  keys: KeySource;
  checkPlan: PlanCheck;
  reading: ReadingOptions;
}

export function streamRoutes(options: StreamOptions): Route[] {
  const description = new KeptReply(JSON.parse(JSON.stringify(describeLive())) as object, true);
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
    const connection = hub.connect({
      format,
      get waitingBytes() {
        return socket.waitingBytes;
      },
      send: (message) => socket.send(message, format === 'json'),
      keepAliveS: PING_EVERY_S,
      keepAlive: () => socket.ping(),
      close: (code, reason) => socket.close(code, cutReason(reason)),
    });
    if (!isKnown) {
      const reason = `Sec-WebSocket-Protocol: expected any of ${names}`;
      hub.end(connection, CLOSE_CODES.policy, reason);
    } else if (key !== '') hub.admit(connection, key, 'the one in the x-api-key header');
    if (connection.key !== null) exchange.belongsTo(connection.key.record.id);
    return {
      onMessage: (message, isText) => hub.receive(connection, message, isText),
      onRoom: () => connection.onRoom(),
      onClose: () => hub.forget(connection),
    };
  });
}

/** A close frame has room for 123 bytes. */
const cutReason = (reason: string): string =>
  Buffer.byteLength(reason) <= 123 ? reason : `${reason.slice(0, 120)}...`;

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
  const connection = hub.connect(wire);
  exchange.onGone(() => hub.forget(connection));
  try {
    hub.authenticate(connection, exchange.header('x-api-key'), 'the one in the x-api-key header');
    await hub.followDepth(connection, ONLY_ID, address, query, true);
  } catch (error) {
    hub.forget(connection);
    throw error;
  }
  if (exchange.method === 'HEAD') {
    hub.forget(connection);
    exchange.reply(200, EVENT_HEADERS, null);
    return;
  }
  const stream = exchange.stream(EVENT_HEADERS, COMMENT, () => connection.onRoom());
  if (stream === null) hub.forget(connection);
  else wire.open(stream);
}

const EVENT_HEADERS = [
  ['Content-Type', EVENT_STREAM],
  NOT_STORED,
  // Without this header, nginx would buffer events.
  ['X-Accel-Buffering', 'no'],
] as const;

/** The query of a client that reconnects: the cursor of its last event replaces `cursor` and `from`. */
function withCursor(query: string, cursor: string): string {
  const rest = query.split('&').filter((pair) => !/^(cursor|from)=/.test(pair) && pair !== '');
  return [...rest, `cursor=${encodeURIComponent(cursor)}`].join('&');
}

/** The clients of a cohort get the same message one after the other: its event is made once. */
let lastEvent: { message: Uint8Array | null; event: Uint8Array } = {
  message: null,
  event: new Uint8Array(),
};

function encodeEvent(message: Uint8Array, cursor: string | null): Uint8Array {
  const id = cursor === null ? '' : `id: ${cursor}\n`;
  return Buffer.concat([Buffer.from(`${id}data: `), message, Buffer.from('\n\n')]);
}

/** Writes messages as events. Messages that come before the reply has begun wait for it. */
class EventWire {
  readonly format = 'json';
  readonly keepAliveS = COMMENT_EVERY_S;
  private stream: ReplyStream | null = null;
  private early: Uint8Array[] = [];

  get waitingBytes(): number {
    return this.stream?.waitingBytes ?? 0;
  }

  open(stream: ReplyStream): void {
    this.stream = stream;
    stream.write(Buffer.from(`retry: ${RETRY_MS}\n\n`));
    for (const bytes of this.early.splice(0)) stream.write(bytes);
  }

  send(message: Uint8Array, cursor: string | null): void {
    if (lastEvent.message !== message) {
      lastEvent = { message, event: encodeEvent(message, cursor) };
    }
    this.write(lastEvent.event);
  }

  keepAlive(): void {
    this.write(COMMENT);
  }

  close(code: number, reason: string): void {
    this.write(Buffer.from(encodeClose(code, reason)));
    this.stream?.end();
  }

  private write(bytes: Uint8Array): void {
    if (this.stream === null) this.early.push(bytes);
    else this.stream.write(bytes);
  }
}

const encodeClose = (code: number, reason: string): string =>
  `event: close\ndata: ${Buffer.from(encodeMessage('json', { type: 'close', code, reason })).toString()}\n\n`;
