/** Turns documents into the bytes of replies. */
import zlib, { type BrotliOptions, type ZlibOptions } from 'node:zlib';
import { packMaps } from './messagepack.js';

export const DOCUMENT_TYPES = ['application/json', 'application/msgpack'] as const;
export const DOCUMENT_ENCODINGS = ['br', 'gzip'] as const;
type DocumentEncoding = (typeof DOCUMENT_ENCODINGS)[number];

export const DOCUMENT_GZIP: ZlibOptions = { level: 1 };
export const DOCUMENT_BROTLI: BrotliOptions = {
  params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 },
};

/** The form of the body that a request accepts. */
export interface DocumentForm {
  mediaType: (typeof DOCUMENT_TYPES)[number];
  encoding: 'identity' | DocumentEncoding;
  /** Bodies up to this size are not compressed. */
  compressAbove: number;
}

/** A document's bytes; MessagePack has the same content as JSON. */
export function serialize(document: unknown, mediaType: DocumentForm['mediaType']): Uint8Array {
  return mediaType === 'application/json'
    ? Buffer.from(JSON.stringify(document))
    : packMaps(document);
}

export function compressDocument(body: Uint8Array, { encoding }: DocumentForm): Uint8Array {
  return encoding === 'br'
    ? zlib.brotliCompressSync(body, DOCUMENT_BROTLI)
    : zlib.gzipSync(body, DOCUMENT_GZIP);
}

export interface EncodedDocument {
  /** Whether the body is uncompressed. */
  plain: boolean;
  body: Uint8Array;
}

export function encodeDocument(document: unknown, form: DocumentForm): EncodedDocument {
  const body = serialize(document, form.mediaType);
  const plain = body.length <= form.compressAbove;
  return { plain, body: plain ? body : compressDocument(body, form) };
}
