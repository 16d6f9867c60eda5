/** The messages of a live connection (docs/live.md#messages): how they are read and written. */
import { packMaps, unpackMaps } from '../../compute/messagepack.js';
import type { PageFormat } from '../../compute/replay/page-format.js';
import { closeMatch } from '../../compute/nearest.js';
import { excerpt, invalidParameter } from '../api/errors.js';
import { ApiError } from '../http/errors.js';

export const CHANNELS = ['depth', 'score', 'top-scores', 'dca-pressure'] as const;
export type Channel = (typeof CHANNELS)[number];
export type LiveFormat = Extract<PageFormat, 'json' | 'msgpack'>;

/** The WebSocket's subprotocols. */
export const PROTOCOLS: Readonly<Record<string, LiveFormat>> = {
  'fathom.v1.json': 'json',
  'fathom.v1.msgpack': 'msgpack',
};

/** Codes with which the server closes a WebSocket. */
export const CLOSE_CODES = {
  /** The only subscription of an event stream has ended with an error. */
  ended: 1000,
  /** The server is stopping. */
  restart: 1012,
  /** Too many messages, or too many unread replies. */
  policy: 1008,
  key: 4401,
  tier: 4403,
  limit: 4429,
} as const;

const MAX_ID_CHARS = 100;

const OPS = ['auth', 'subscribe', 'unsubscribe', 'ping'] as const;

/** A client's message. */
export type Request =
  | { op: 'auth'; key: string }
  | { op: 'subscribe'; id: string; channel: Channel; address: string | null; query: string }
  | { op: 'unsubscribe'; id: string }
  | { op: 'ping' };

export function encodeMessage(format: LiveFormat, message: object): Uint8Array {
  return format === 'json' ? Buffer.from(JSON.stringify(message)) : packMaps(message);
}

/** A failure as a message. @param id of the subscription; null: it is about none */
export function encodeError(
  format: LiveFormat,
  id: string | null,
  { body, headers }: ApiError,
): Uint8Array {
  const waitS = headers.find(([name]) => name === 'Retry-After')?.[1];
  return encodeMessage(format, {
    type: 'error',
    ...(id === null ? {} : { id }),
    ...body,
    ...(waitS === undefined ? {} : { retry_ms: Number(waitS) * 1000 }),
  });
}

/**
 * Builds a message around an encoded part: the fields of `head`, of `body` and of `tail`.
 * @param body a document with `bodyFields` fields
 */
export function joinMessage(
  format: LiveFormat,
  head: object,
  body: Uint8Array,
  bodyFields: number,
  tail: object,
): Uint8Array {
  const [first, last] = [encodeMessage(format, head), encodeMessage(format, tail)];
  if (format === 'json') {
    const parts = [first.subarray(0, -1), COMMA, body.subarray(1, -1), COMMA, last.subarray(1)];
    return Buffer.concat(parts);
  }
  const fields = Object.keys(head).length + bodyFields + Object.keys(tail).length;
  const map = Uint8Array.of(FIXMAP | fields);
  return Buffer.concat([map, first.subarray(1), body.subarray(1), last.subarray(1)]);
}

const COMMA = Buffer.from(',');
/** Fields of a page without an envelope: markets, groups, snapshots. */
export const PAGE_FIELDS = 3;
/** A MessagePack map of at most 15 fields. */
const FIXMAP = 0x80;

/** @throws ApiError 400 */
export function readRequest(message: Uint8Array, isText: boolean): Request {
  const value = decoded(message, isText);
  const op = wordOf(value, 'op', OPS);
  switch (op) {
    case 'ping':
      return { op };
    case 'auth':
      return { op, key: textOf(value, 'key') };
    case 'unsubscribe':
      return { op, id: idOf(value) };
    case 'subscribe': {
      const id = idOf(value);
      const channel = wordOf(value, 'channel', CHANNELS);
      const address = value.address === undefined ? null : textOf(value, 'address');
      return { op, id, channel, address, query: queryOf(value) };
    }
  }
}

/** Reads a field that must be one of `words`. @throws ApiError 400 that suggests the word that was probably meant */
function wordOf<W extends string>(
  value: Record<string, unknown>,
  name: string,
  words: readonly W[],
): W {
  const sent = value[name];
  const word = words.find((known) => known === sent);
  if (word !== undefined) return word;
  const expected = `expected any of ${words.join(', ')}`;
  if (typeof sent === 'string') {
    const near = closeMatch(sent, words);
    const hint = near === null ? '' : `; did you mean ${near}?`;
    throw invalidParameter(name, `${expected}; was '${excerpt(sent)}'${hint}`);
  }
  if (sent !== undefined) throw invalidParameter(name, `${expected}, was not a text`);
  // The server's messages have a `type`, and clients expect to send one too.
  const other = Object.keys(value).find((key) => words.some((known) => known === value[key]));
  const hint = other === undefined ? '' : `; rename ${excerpt(other)} to ${name}`;
  throw invalidParameter(name, `${expected}, was not sent${hint}`);
}

/** The id of a message that could not be read as a whole. */
export function idIn(message: Uint8Array, isText: boolean): string | null {
  try {
    return idOf(decoded(message, isText));
  } catch {
    return null;
  }
}

function decoded(message: Uint8Array, isText: boolean): Record<string, unknown> {
  let value: unknown;
  try {
    value = isText
      ? JSON.parse(Buffer.from(message).toString())
      : unpackMaps(Uint8Array.from(message));
  } catch {
    value = null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const expected = isText ? 'a JSON object' : 'a MessagePack map; JSON goes into text frames';
    throw new ApiError(400, 'invalid_body', `message: expected ${expected}`);
  }
  return value as Record<string, unknown>;
}

function idOf(value: Record<string, unknown>): string {
  const id = textOf(value, 'id');
  if (id.length > MAX_ID_CHARS || id === '') {
    throw invalidParameter('id', `expected 1 to ${MAX_ID_CHARS} characters`);
  }
  return id;
}

function textOf(value: Record<string, unknown>, name: string): string {
  const text = value[name];
  if (text === undefined) throw invalidParameter(name, 'expected a text, was not sent');
  if (typeof text !== 'string') throw invalidParameter(name, 'expected a text');
  return whole(name, text);
}

/** JSON can have halves of surrogate pairs, which no URL and no UTF-8 can. @throws ApiError 400 */
function whole(name: string, text: string): string {
  if (!/\p{Cs}/u.test(text)) return text;
  throw invalidParameter(excerpt(name), 'expected a text without halves of surrogate pairs');
}

const NO_PARAMETERS = new Set(['op', 'id', 'channel', 'address']);

/** The parameters of a subscription as a query of its endpoint, lists with commas. */
function queryOf(value: Record<string, unknown>): string {
  return Object.entries(value)
    .filter(([name, own]) => !NO_PARAMETERS.has(name) && own !== undefined)
    .map(([name, own]) => {
      const items = Array.isArray(own) ? (own as unknown[]) : [own];
      if (!items.every((item) => ['string', 'number', 'boolean'].includes(typeof item))) {
        const expected = 'expected a text, a number, true or false, or a list of them';
        throw invalidParameter(excerpt(name), own === null ? `${expected}; was null` : expected);
      }
      const text = whole(name, items.join(','));
      return `${encodeURIComponent(whole(name, name))}=${encodeURIComponent(text)}`;
    })
    .join('&');
}
