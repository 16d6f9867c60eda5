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
  type EncodedDocument,
  serialize,
} from '../../compute/documents.js';
import type { ComputePool, RunTask } from '../../compute/pool.js';
import { whenReady } from '../board.js';
import { ApiError, type Headers, unlessBusy } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { negotiateEncoding, negotiateMediaType } from '../http/negotiation.js';
import { encodeLongLists } from '../long-lists.js';

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
/** What a cached body takes besides its bytes and its name. */
const ENTRY_BYTES = 256;
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
  const message = `${header}: expected any of ${offers.join(', ')}`;
  return new ApiError(406, 'not_acceptable', message, { headers: [VARY] });
}

/** The cache of endpoints: encoded replies, and the data from which replies are made. */
export type ReplyMemory = LRUCache<string, object>;

export function replyMemory(maxBytes: number): ReplyMemory {
  return new LRUCache({ maxSize: maxBytes });
}

/** Where a reply's encoded bodies are kept, and promises of those that are being made. */
interface Bodies {
  get(form: SmallBodyForm): Encoded | undefined;
  set(form: SmallBodyForm, made: Encoded): unknown;
  delete(form: SmallBodyForm): unknown;
}

/** A reply that encodes itself for a form, and keeps the body for other requests. */
export class Reply<T = unknown> {
  /** Only for the compiler: the document that clients get. */
  declare readonly documentType?: T;

  private constructor(
    /** Null: nothing is kept. */
    private readonly bodies: Bodies | null,
    private readonly encode: (form: DocumentForm) => Encoded,
    /** Whether it is kept for the life of the process: sending it takes no further memory. */
    readonly isPermanent = false,
  ) {}

  /** Keeps its bodies for as long as it lives. @param document must not change afterwards */
  static kept<T>(document: T, isPermanent = false): Reply<T> {
    return new Reply(new Map(), (form) => encode(document, form), isPermanent);
  }

  /**
   * Keeps its bodies in the cache, but not its document, which would cost the garbage collector more.
   * @param key names everything that the document depends on, beginning with the endpoint
   * @param make makes the document for a form that is not cached
   */
  static cached<T>(memory: ReplyMemory, key: string, make: () => T | Promise<T>): Reply<T> {
    const bodies = new CachedBodies(memory, key);
    return new Reply(bodies, (form) => whenReady(make(), (made) => encode(made, form)));
  }

  /**
   * Is made and encoded outside the event loop or in turns.
   * @param place in the cache, with a key as of cached(); null: it is not cached
   */
  static remote(
    place: { memory: ReplyMemory; key: string } | null,
    encodeOutside: (form: DocumentForm) => Promise<EncodedDocument>,
  ): Reply<never> {
    return new Reply(place && new CachedBodies(place.memory, place.key), encodeOutside);
  }

  /** The body: one that is kept, or a new one, for which other requests wait. */
  encoded(form: SmallBodyForm): Encoded {
    const { bodies } = this;
    if (bodies === null) return this.encode(form);
    const known = bodies.get(form);
    if (known !== undefined) return known;
    const made = this.encode(form);
    bodies.set(form, made);
    if (made instanceof Promise) {
      made.then(
        (body) => bodies.set(form, body),
        () => bodies.delete(form),
      );
    }
    return made;
  }
}

/** The bodies of one reply in the cache. */
class CachedBodies implements Bodies {
  constructor(
    private readonly memory: ReplyMemory,
    private readonly key: string,
  ) {}

  get(form: SmallBodyForm): Encoded | undefined {
    return this.memory.get(this.nameOf(form)) as Encoded | undefined;
  }

  set(form: SmallBodyForm, made: Encoded): void {
    const name = this.nameOf(form);
    const one = made instanceof Promise ? made : { ...made, body: inOwnBuffer(made.body) };
    const bytes = one instanceof Promise ? 0 : one.body.byteLength;
    this.memory.set(name, one, { size: ENTRY_BYTES + name.length + bytes });
  }

  delete(form: SmallBodyForm): void {
    this.memory.delete(this.nameOf(form));
  }

  private nameOf({ mediaType, encoding, compressAbove }: SmallBodyForm): string {
    return `${mediaType} ${encoding} ${compressAbove} ${this.key}`;
  }
}

/** For a client that has disconnected. */
const NOTHING: EncodedDocument = { plain: true, body: new Uint8Array(0) };

/**
 * A reply that is made in a place of the pool's pages, as many at a time as those, and is not cached.
 * @param make may run tasks of the pool; rejects with an ApiError for the client
 */
export function replyLikePage(
  pool: ComputePool,
  { exchange, key }: { exchange: Exchange; key: { id: string } },
  make: (form: DocumentForm, run: RunTask) => Promise<EncodedDocument>,
): Reply<never> {
  return Reply.remote(null, async (form) => {
    const made = pool.schedule('page', key.id, (run) => make(form, run), exchange);
    return (await unlessBusy(made)) ?? NOTHING;
  });
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

type Encoded = EncodedDocument | Promise<EncodedDocument>;

/** Replies 200 with a document, or with a reply that encodes itself. */
export function replyDocument(
  exchange: Exchange,
  reply: object,
  form: SmallBodyForm,
): void | Promise<void> {
  const bodyUse = reply instanceof Reply && reply.isPermanent ? 'permanent' : 'shared';
  return whenReady(encodedReply(reply, form), ({ plain, body }) =>
    exchange.reply(200, plain ? form.plainHeaders : form.headers, body, bodyUse),
  );
}

export async function jsonOf(reply: object): Promise<string> {
  const { body } = await encodedReply(reply, NOT_CACHED['application/json'].identity);
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}

const encodedReply = (reply: object, form: SmallBodyForm): Encoded =>
  reply instanceof Reply ? reply.encoded(form) : encode(reply, form);

/** Small buffers share one, and zlib's are larger than what they hold: a kept part would keep the whole in memory. */
const inOwnBuffer = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);

/** Encodes a document of `fields` and long lists in turns, and compresses it outside the event loop. */
export async function encodeInTurns(
  fields: object,
  lists: Readonly<Record<string, readonly object[]>>,
  form: DocumentForm,
): Promise<EncodedDocument> {
  const format = form.mediaType === 'application/json' ? 'json' : 'msgpack';
  const body = await encodeLongLists(format, { fields, lists, rest: null });
  return compressed(body, form);
}

/** Encodes on the event loop; compresses large bodies outside. */
const encode = (document: unknown, form: DocumentForm): Encoded =>
  compressed(serialize(document, form.mediaType), form);

function compressed(body: Uint8Array, form: DocumentForm): Encoded {
  if (body.length <= form.compressAbove) return { plain: true, body };
  const isLarge = body.length > MAX_SYNC_COMPRESS_BYTES;
  const made = isLarge ? compressOutside(body, form) : compressDocument(body, form);
  return whenReady(made, (bytes) => ({ plain: false, body: bytes }));
}

function compressOutside(body: Uint8Array, { encoding }: DocumentForm): Promise<Uint8Array> {
  return encoding === 'br' ? brotli(body, DOCUMENT_BROTLI) : gzip(body, DOCUMENT_GZIP);
}
