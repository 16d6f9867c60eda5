/** The AsyncAPI description of live connections, served beside the OpenAPI one. */
import Type, { type TProperties, type TSchema } from '../api/type.js';
import { BASE_PATH } from '../api/endpoint.js';
import { API_VERSION } from '../api/openapi.js';
import {
  addressParameter,
  chainKey,
  document,
  epochSeconds,
  takeNamedSchemas,
  tokenAddress,
  word,
} from '../api/schemas.js';
import { missingVenuesField, resolvedToken } from '../depth/shown-token.js';
import { getDcaPressure } from '../orders/dca-pressure.js';
import { replayGroup, replayMarket, replaySnapshot } from '../replay/replay.js';
import { getScore } from '../scores/score.js';
import { getTopScores } from '../scores/top-scores.js';
import { CHANNELS, CLOSE_CODES, PROTOCOLS } from './protocol.js';
import { getStream, SOCKET_PATH } from './parameters.js';

export const ASYNC_DESCRIPTION_PATH = `${BASE_PATH}/asyncapi.json`;

const id = Type.String({ description: 'The id of the subscription.' });
const where = {
  next_from: epochSeconds('The time from which new snapshots follow'),
  cursor: Type.String({ description: 'The progress of the subscription; opaque.' }),
};
const columns = {
  markets: Type.Array(replayMarket, {
    description: 'Those with cells in this message; empty unless `group` is `market`.',
  }),
  groups: Type.Array(replayGroup, {
    description: 'Those with cells in this message; empty unless `group` is `venue` or `type`.',
  }),
  snapshots: Type.Array(replaySnapshot, { description: 'Ascending in time.' }),
};
const now = epochSeconds("The server's time");

const SENT: readonly [type: string, summary: string, fields: TProperties][] = [
  [
    'subscribed',
    'Answers subscribe. Channels other than `depth` get `channel` instead of a token and a cursor.',
    {
      id,
      token: Type.Optional(tokenAddress),
      resolved_token: resolvedToken,
      chain: Type.Optional(chainKey),
      clamped: Type.Optional(
        Type.Literal(true, {
          description:
            '`from`, or the time of the cursor, was more than 365 days ago, and was raised to 365 days ago.',
        }),
      ),
      venues_not_found: missingVenuesField,
      channel: Type.Optional(word(CHANNELS)),
      next_from: Type.Optional(where.next_from),
      cursor: Type.Optional(where.cursor),
    },
  ],
  [
    'snapshots',
    'Snapshots that the client does not have yet: history, then new ones.',
    { id, ...columns, ...where },
  ],
  ['revised', 'Snapshots that were replaced or came late.', { id, ...columns, ...where }],
  [
    'deleted',
    'Times of snapshots that are no longer shown.',
    { id, t: Type.Array(Type.Integer(), { description: 'Unix epoch seconds.' }), ...where },
  ],
  [
    'reset',
    'The server does not know which revisions and deletions followed the cursor; new snapshots follow from next_from.',
    { id, reason: Type.String(), ...where },
  ],
  ['lagged', 'The client read too slowly; what it missed follows.', { id, ...where }],
  [
    'heartbeat',
    'A subscription had no message for 5 seconds. Only channel `depth` has a cursor.',
    { id, t: now, next_from: Type.Optional(where.next_from), cursor: Type.Optional(where.cursor) },
  ],
  [
    'document',
    'The document of an endpoint, at the beginning and after each change.',
    {
      id,
      channel: word(CHANNELS.slice(1) as ['score']),
      document: Type.Union([getScore.response, getTopScores.response, getDcaPressure.response]),
      t: now,
    },
  ],
  [
    'closing',
    'The server is stopping: reconnect with the cursor after retry_ms.',
    {
      id,
      retry_ms: Type.Integer({ minimum: 0 }),
      next_from: Type.Optional(where.next_from),
      cursor: Type.Optional(where.cursor),
    },
  ],
  ['unsubscribed', 'Answers unsubscribe.', { id }],
  ['pong', 'Answers ping.', {}],
  [
    'error',
    'A message was refused, or a subscription ended. A WebSocket stays open.',
    {
      id: Type.Optional(id),
      error: Type.String(),
      message: Type.Optional(Type.String()),
      error_code: Type.Optional(Type.String()),
      retry_ms: Type.Optional(
        Type.Integer({ minimum: 0, description: 'Another attempt may succeed after this long.' }),
      ),
    },
  ],
  [
    'close',
    'The last event of a stream that the server ends, with the codes of a WebSocket.',
    { code: Type.Integer(), reason: Type.String() },
  ],
];
const SECURITY_SCHEMES = {
  apiKey: {
    type: 'httpApiKey',
    name: 'x-api-key',
    in: 'header',
    description: 'A socket can send the key in the message auth instead.',
  },
};
const KEY = [{ $ref: '#/components/securitySchemes/apiKey' }];
/** Messages that only one of the channels has. */
const SOCKET_ONLY = ['document', 'unsubscribed', 'pong'];
const EVENTS_ONLY = ['close'];

const op = <O extends string>(name: O) => Type.Literal(name);
const RECEIVED: readonly [name: string, summary: string, schema: TSchema][] = [
  [
    'auth',
    'Sends the key, if the upgrade had none, within 5 seconds.',
    document('Auth', { op: op('auth'), key: Type.String() }),
  ],
  [
    'subscribe',
    'Begins a subscription. Channels other than `depth` take the parameters of their endpoint.',
    document('Subscribe', {
      op: op('subscribe'),
      id: Type.String({ minLength: 1, maxLength: 100 }),
      channel: word(CHANNELS),
      address: Type.Optional(addressParameter),
      ...getStream.query.properties,
    }),
  ],
  ['unsubscribe', 'Ends a subscription.', document('Unsubscribe', { op: op('unsubscribe'), id })],
  ['ping', 'Asks for a pong.', document('Ping', { op: op('ping') })],
];

const capital = (name: string): string => name[0].toUpperCase() + name.slice(1);
const schemaNameOf = (type: string): string => `Live${capital(type)}`;

/** The description as plain data, the same every time. */
export function describeLive(): object {
  const sent = SENT.map(([type, summary, fields]) => ({
    name: type,
    summary,
    payload: document(schemaNameOf(type), { type: Type.Literal(type), ...fields }),
  }));
  const received = RECEIVED.map(([name, summary, payload]) => ({ name, summary, payload }));
  const messages = Object.fromEntries([...sent, ...received].map((one) => [one.name, one]));
  const { value, schemas } = takeNamedSchemas({ messages });
  const refs = (channel: string, names: readonly string[]) =>
    names.map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` }));
  const channel = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]));
  const sentExcept = (left: readonly string[]) =>
    sent.map(({ name }) => name).filter((name) => !left.includes(name));
  const [socketNames, eventNames] = [sentExcept(EVENTS_ONLY), sentExcept(SOCKET_ONLY)];
  const receivedNames = received.map(({ name }) => name);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Fathom live',
      version: API_VERSION,
      description:
        'Depth history, then its changes, on one cursor. ' +
        `Close codes: ${Object.entries(CLOSE_CODES)
          .map(([what, code]) => `${code} ${what}`)
          .join(', ')}.`,
    },
    defaultContentType: 'application/json',
    channels: {
      socket: {
        address: SOCKET_PATH,
        summary: `A WebSocket; subprotocols: ${Object.keys(PROTOCOLS).join(', ')}.`,
        messages: channel([...socketNames, ...receivedNames]),
      },
      events: {
        address: `${BASE_PATH}${getStream.path.replace(':address', '{address}')}`,
        summary: 'The depth of one token as Server-Sent Events.',
        parameters: { address: { description: 'The address of the token.' } },
        messages: channel(eventNames),
      },
    },
    operations: {
      send: {
        action: 'send',
        channel: { $ref: '#/channels/socket' },
        security: KEY,
        messages: refs('socket', socketNames),
      },
      receive: {
        action: 'receive',
        channel: { $ref: '#/channels/socket' },
        security: KEY,
        messages: refs('socket', receivedNames),
      },
      stream: {
        action: 'send',
        channel: { $ref: '#/channels/events' },
        security: KEY,
        messages: refs('events', eventNames),
      },
    },
    components: { ...(value as object), schemas, securitySchemes: SECURITY_SCHEMES },
  };
}
