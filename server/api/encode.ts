/** Replies of moderate size: a document becomes the bytes of one of its forms. */
import { promisify } from 'node:util';
import zlib, { type BrotliOptions, type ZlibOptions } from 'node:zlib';
import { Packr } from 'msgpackr';
import type { Exchange } from '../http/exchange.js';
import type { MediaType, SmallBodyForm } from './forms.js';
import { KeptReply } from './kept-reply.js';

/** Longer bodies are compressed outside the event loop. */
const MAX_SYNC_COMPRESS_BYTES = 64 * 1024;

const GZIP: ZlibOptions = { level: 1 };
const BROTLI: BrotliOptions = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } };

const gzip = promisify<Uint8Array, ZlibOptions, Buffer>(zlib.gzip);
const brotli = promisify<Uint8Array, BrotliOptions, Buffer>(zlib.brotliCompress);

/** Maps as every decoder knows them; what is undefined is left out, as in JSON. */
const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  skipValues: [undefined],
} as ConstructorParameters<typeof Packr>[0]);

/** Replies 200 with a document in the form that the request asked for. */
export function replyDocument(
  exchange: Exchange,
  reply: object,
  form: SmallBodyForm,
): void | Promise<void> {
  if (reply instanceof KeptReply) return replyKept(exchange, reply, form);
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

/** Encodes in the first request's turn, whatever the length: the others find it done. */
function replyKept(exchange: Exchange, kept: KeptReply, form: SmallBodyForm): void {
  let encoded = kept.encoded.get(form);
  if (encoded === undefined) {
    const body = serialize(kept.document, form.mediaType);
    const plain = body.length <= form.compressAbove;
    encoded = { plain, body: plain ? body : compressNow(body, form) };
    kept.encoded.set(form, encoded);
  }
  exchange.reply(200, encoded.plain ? form.plainHeaders : form.headers, encoded.body);
}

/** A document's bytes; those of MessagePack say nothing that those of JSON do not. */
export function serialize(document: unknown, mediaType: MediaType): Uint8Array {
  return mediaType === 'application/json'
    ? Buffer.from(JSON.stringify(document))
    : packr.pack(document);
}

function compress(body: Uint8Array, form: SmallBodyForm): Uint8Array | Promise<Uint8Array> {
  if (body.length <= MAX_SYNC_COMPRESS_BYTES) return compressNow(body, form);
  return form.encoding === 'br' ? brotli(body, BROTLI) : gzip(body, GZIP);
}

function compressNow(body: Uint8Array, form: SmallBodyForm): Uint8Array {
  return form.encoding === 'br' ? zlib.brotliCompressSync(body, BROTLI) : zlib.gzipSync(body, GZIP);
}
