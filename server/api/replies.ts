/** Replies of documents: negotiates media type and encoding, encodes, compresses and caches. */
import { promisify } from 'node:util';
import zlib, { type BrotliOptions, type ZlibOptions } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import {
  compressDocument,
  DOCUMENT_BROTLI,
  DOCUMENT_ENCODINGS,
  DOCUMENT_GZIP,
  DOCUMENT_TYPES,
  type DocumentForm,
  encodeDocument,
  type EncodedDocument,
  serialize,
} from '../../compute/documents.js';
import { ApiError, type Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { negotiateEncoding, negotiateMediaType } from '../http/negotiation.js';

/** In order of preference. */
export const MEDIA_TYPES = DOCUMENT_TYPES;
const ENCODINGS = DOCUMENT_ENCODINGS;
type MediaType = DocumentForm['mediaType'];

/**
 * Bodies up to this size are not compressed: that would take longer than the rest of the request, and TCP sends them in
 * one flight anyway.
 */
export const COMPRESS_ABOVE_BYTES = 12 * 1024;
/** Cached texts per negotiated header. */
const MAX_CACHED_HEADERS = 256;
/** Larger bodies are compressed outside the event loop. */
const MAX_SYNC_COMPRESS_BYTES = 64 * 1024;

const gzip = promisify<Uint8Array, ZlibOptions, Buffer>(zlib.gzip);
const brotli = promisify<Uint8Array, BrotliOptions, Buffer>(zlib.brotliCompress);

export const VARY = ['Vary', 'Accept, Accept-Encoding'] as const;

/** A coding that a request accepts; with `only`, it does not accept an uncompressed body. */
type Coding = 'identity' | (typeof ENCODINGS)[number] | `only ${(typeof ENCODINGS)[number]}`;

/** One form of a reply; compared by identity. */
interface SmallBodyForm extends Readonly<DocumentForm> {
  /** Headers of a compressed body. */
  readonly headers: Headers;
  /** Headers of an uncompressed body. */
  readonly plainHeaders: Headers;
}

/** Every form of one endpoint's replies. */
export type SmallForms = Readonly<Record<MediaType, Readonly<Record<Coding, SmallBodyForm>>>>;

/** @param maxAgeS seconds that a client may cache the reply; null: it may not */
export function smallForms(maxAgeS: number | null): SmallForms {
  const cacheControl = maxAgeS === null ? 'no-store' : `private, max-age=${maxAgeS}`;
  const ofType = (mediaType: MediaType) => {
    const plainHeaders: Headers = [
      ['Content-Type', mediaType],
      ['Cache-Control', cacheControl],
      VARY,
    ];
    const form = (
      encoding: SmallBodyForm['encoding'],
      above: number,
      headers: Headers = [...plainHeaders, ['Content-Encoding', encoding]],
    ): SmallBodyForm => ({ mediaType, encoding, compressAbove: above, headers, plainHeaders });
    return {
      identity: form('identity', Infinity, plainHeaders),
      br: form('br', COMPRESS_ABOVE_BYTES),
      gzip: form('gzip', COMPRESS_ABOVE_BYTES),
      'only br': form('br', -1),
      'only gzip': form('gzip', -1),
    };
  };
  return {
    'application/json': ofType('application/json'),
    'application/msgpack': ofType('application/msgpack'),
  };
}

const NOT_CACHED = smallForms(null);

/** Caches results: clients send only a few different texts. */
function memoized<T extends string>(read: (header: string) => T): (header: string) => T {
  const known = new Map<string, T>();
  return (header) => {
    let meaning = known.get(header);
    if (meaning === undefined) {
      meaning = read(header);
      if (known.size >= MAX_CACHED_HEADERS) known.clear();
      known.set(header, meaning);
    }
    return meaning;
  };
}

const acceptedType = memoized((accept) => negotiateMediaType(accept, MEDIA_TYPES) ?? 'none');
const acceptedCoding = memoized((acceptEncoding): Coding | 'none' => {
  const encoding = negotiateEncoding(acceptEncoding, ENCODINGS) ?? 'none';
  if (encoding === 'none' || encoding === 'identity') return encoding;
  return negotiateEncoding(acceptEncoding, []) === null ? `only ${encoding}` : encoding;
});

/**
 * The form that the request's Accept and Accept-Encoding prefer.
 * @throws ApiError 406
 */
export function negotiateForm(exchange: Exchange, forms: SmallForms = NOT_CACHED): SmallBodyForm {
  const mediaType = acceptedType(exchange.header('accept'));
  if (mediaType === 'none') throw notAcceptable('Accept', MEDIA_TYPES);
  const coding = acceptedCoding(exchange.header('accept-encoding'));
  if (coding === 'none') throw notAcceptable('Accept-Encoding', [...ENCODINGS, 'identity']);
  return forms[mediaType][coding];
}

/** The request accepts none of the offers. */
export function notAcceptable(header: string, offers: readonly string[]): ApiError {
  return new ApiError(406, 'not_acceptable', `${header}: expected any of ${offers.join(', ')}`);
}

/** A reply to many requests, each form of which is encoded once. */
export class KeptReply<T = unknown> {
  /** Encoded bodies by form, made on demand. */
  readonly encoded = new Map<SmallBodyForm, EncodedDocument>();

  /**
   * @param document must not change afterwards
   * @param isPermanent whether it is kept for the life of the process: sending it takes no further memory
   */
  constructor(
    readonly document: T,
    readonly isPermanent = false,
  ) {}
}

/** A reply whose bytes are made outside the event loop, in the form that the request accepts. */
export class RemoteReply {
  constructor(readonly make: (form: DocumentForm) => Promise<EncodedDocument>) {}
}

/** The cache of endpoints: replies, and the data from which they are made. */
export type ReplyMemory = LRUCache<string, object>;

export function replyMemory(maxBytes: number): ReplyMemory {
  return new LRUCache({ maxSize: maxBytes });
}

/** An endpoint's cached replies, by keys that name everything they depend on. */
export class KeptReplies<T> {
  /**
   * @param name of the endpoint
   * @param bytesOf a document with its encoded forms
   */
  constructor(
    private readonly memory: ReplyMemory,
    private readonly name: string,
    private readonly bytesOf: (document: T) => number,
  ) {}

  find(key: string): KeptReply<T> | null {
    return (this.memory.get(`${this.name} ${key}`) as KeptReply<T> | undefined) ?? null;
  }

  /** Keeps a document, unless it alone exceeds the bound. */
  put(key: string, document: T): KeptReply<T> {
    const reply = new KeptReply(document);
    this.memory.set(`${this.name} ${key}`, reply, { size: this.bytesOf(document) });
    return reply;
  }

  /** The cached reply, else a new one. */
  get(key: string, make: () => T): KeptReply<T> {
    return this.find(key) ?? this.put(key, make());
  }
}

/** Adds the header with the time of the snapshot that the reply is based on; null: there is none. */
export function addDataTime(exchange: Exchange, t: number | null): void {
  if (t !== null) exchange.addHeader('X-Data-Time', String(t));
}

const objectNumbers = new WeakMap<object, number>();
let lastObjectNumber = 0;

/**
 * The key of a cached reply, from everything that the reply depends on.
 * @param parts objects are compared by identity: they must not change
 */
export function replyKey(
  ...parts: readonly (string | number | boolean | object | null | undefined)[]
): string {
  return parts.map((part) => (part instanceof Object ? numberOf(part) : part)).join(' ');
}

function numberOf(object: object): number {
  const number = objectNumbers.get(object) ?? ++lastObjectNumber;
  objectNumbers.set(object, number);
  return number;
}

/** Replies 200 with a document, a KeptReply or a RemoteReply. */
export function replyDocument(
  exchange: Exchange,
  reply: object,
  form: SmallBodyForm,
): void | Promise<void> {
  if (reply instanceof KeptReply) return replyKept(exchange, reply, form);
  if (reply instanceof RemoteReply) return replyRemote(exchange, reply, form);
  const body = serialize(reply, form.mediaType);
  if (body.length <= form.compressAbove) {
    exchange.reply(200, form.plainHeaders, body);
    return;
  }
  const compressed = compress(body, form);
  if (compressed instanceof Promise) return compressed.then((bytes) => send(exchange, form, bytes));
  send(exchange, form, compressed);
}

function send(exchange: Exchange, form: SmallBodyForm, compressed: Uint8Array): void {
  exchange.reply(200, form.headers, compressed);
}

async function replyRemote(
  exchange: Exchange,
  reply: RemoteReply,
  form: SmallBodyForm,
): Promise<void> {
  const { mediaType, encoding, compressAbove } = form;
  const { plain, body } = await reply.make({ mediaType, encoding, compressAbove });
  exchange.reply(200, plain ? form.plainHeaders : form.headers, body);
}

/** Encodes at the first request, on the event loop whatever the size, because later requests reuse the result. */
function replyKept(exchange: Exchange, kept: KeptReply, form: SmallBodyForm): void {
  let encoded = kept.encoded.get(form);
  if (encoded === undefined) {
    encoded = encodeDocument(kept.document, form);
    kept.encoded.set(form, encoded);
  }
  const headers = encoded.plain ? form.plainHeaders : form.headers;
  const bodyUse = kept.isPermanent ? 'permanent' : 'shared';
  exchange.reply(200, headers, encoded.body, bodyUse);
}

function compress(body: Uint8Array, form: SmallBodyForm): Uint8Array | Promise<Uint8Array> {
  if (body.length <= MAX_SYNC_COMPRESS_BYTES) return compressDocument(body, form);
  return form.encoding === 'br' ? brotli(body, DOCUMENT_BROTLI) : gzip(body, DOCUMENT_GZIP);
}
