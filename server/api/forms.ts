/** The forms in which small replies are sent, and which of them a request gets. */
import { ApiError } from '../http/errors.js';
import type { Exchange, Headers } from '../http/exchange.js';
import { negotiateEncoding, negotiateMediaType } from '../http/negotiation.js';

/** Offers, the ones that are preferred first. */
export const MEDIA_TYPES = ['application/json', 'application/msgpack'] as const;
export const ENCODINGS = ['br', 'gzip'] as const;

export type MediaType = (typeof MEDIA_TYPES)[number];
export type Encoding = (typeof ENCODINGS)[number] | 'identity';

/** Bodies up to this fit into one packet as they are: they are not compressed. */
export const COMPRESS_ABOVE_BYTES = 1_400;
/** Different texts of a header whose meaning is remembered. */
const MAX_REMEMBERED = 256;

/** One form of a small reply; there is one object for each. */
export interface SmallBodyForm {
  readonly mediaType: MediaType;
  readonly encoding: Encoding;
  /** Shorter bodies are sent as they are. */
  readonly compressAbove: number;
  /** Headers of a body that is compressed. */
  readonly headers: Headers;
  /** Headers of one that is not. */
  readonly plainHeaders: Headers;
}

export const VARY = ['Vary', 'Accept, Accept-Encoding'] as const;
const NO_STORE = ['Cache-Control', 'no-store'] as const;

type FormsByType = Readonly<Record<MediaType, SmallBodyForm>>;

function smallBodyForm(
  mediaType: MediaType,
  encoding: Encoding,
  compressAbove: number,
): SmallBodyForm {
  const plainHeaders = [['Content-Type', mediaType], NO_STORE, VARY] as const;
  const headers: Headers =
    encoding === 'identity' ? plainHeaders : [...plainHeaders, ['Content-Encoding', encoding]];
  return { mediaType, encoding, compressAbove, headers, plainHeaders };
}

function formsOf(encoding: Encoding, compressAbove: number): FormsByType {
  return {
    'application/json': smallBodyForm('application/json', encoding, compressAbove),
    'application/msgpack': smallBodyForm('application/msgpack', encoding, compressAbove),
  };
}

const PLAIN = formsOf('identity', Infinity);
const COMPRESSED = {
  br: formsOf('br', COMPRESS_ABOVE_BYTES),
  gzip: formsOf('gzip', COMPRESS_ABOVE_BYTES),
};
/** For clients that rule identity out. */
const ALWAYS_COMPRESSED = { br: formsOf('br', -1), gzip: formsOf('gzip', -1) };

/** The meaning of a header's text, remembered for the few texts that clients send. */
function remembering<T>(read: (header: string) => T): (header: string) => T {
  const known = new Map<string, T>();
  return (header) => {
    let meaning = known.get(header);
    if (meaning === undefined) {
      meaning = read(header);
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.set(header, meaning);
    }
    return meaning;
  };
}

const acceptedType = remembering((accept) => negotiateMediaType(accept, MEDIA_TYPES));
const acceptedForms = remembering((acceptEncoding): FormsByType | null => {
  const encoding = negotiateEncoding(acceptEncoding, ENCODINGS);
  if (encoding === null || encoding === 'identity') return encoding && PLAIN;
  const takesIdentity = negotiateEncoding(acceptEncoding, []) !== null;
  return (takesIdentity ? COMPRESSED : ALWAYS_COMPRESSED)[encoding];
});

/**
 * What the request's Accept and Accept-Encoding ask for.
 * @throws ApiError 406
 */
export function negotiateForm(exchange: Exchange): SmallBodyForm {
  const mediaType = acceptedType(exchange.header('accept'));
  if (mediaType === null) throw notAcceptable('Accept', MEDIA_TYPES);
  const forms = acceptedForms(exchange.header('accept-encoding'));
  if (forms === null) throw notAcceptable('Accept-Encoding', [...ENCODINGS, 'identity']);
  return forms[mediaType];
}

/** The headers of a request ask for forms that there are not. */
export function notAcceptable(header: string, offers: readonly string[]): ApiError {
  return new ApiError(406, 'not_acceptable', `${header}: expected any of ${offers.join(', ')}`);
}
