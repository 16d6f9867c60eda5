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
const NO_STORE = 'no-store';

type FormsByType = Readonly<Record<MediaType, SmallBodyForm>>;

function smallBodyForm(
  mediaType: MediaType,
  encoding: Encoding,
  compressAbove: number,
  cacheControl: string,
): SmallBodyForm {
  const plainHeaders = [
    ['Content-Type', mediaType],
    ['Cache-Control', cacheControl],
    VARY,
  ] as const;
  const headers: Headers =
    encoding === 'identity' ? plainHeaders : [...plainHeaders, ['Content-Encoding', encoding]];
  return { mediaType, encoding, compressAbove, headers, plainHeaders };
}

function formsOf(encoding: Encoding, compressAbove: number, cacheControl: string): FormsByType {
  const form = (mediaType: MediaType) =>
    smallBodyForm(mediaType, encoding, compressAbove, cacheControl);
  return {
    'application/json': form('application/json'),
    'application/msgpack': form('application/msgpack'),
  };
}

/** Every form of a reply that may be kept, or not, in one way. */
export interface SmallForms {
  readonly plain: FormsByType;
  readonly compressed: Readonly<Record<(typeof ENCODINGS)[number], FormsByType>>;
  /** For clients that rule identity out. */
  readonly alwaysCompressed: Readonly<Record<(typeof ENCODINGS)[number], FormsByType>>;
}

/** @param maxAgeS seconds that a client may keep the reply; null: it may not */
export function smallForms(maxAgeS: number | null): SmallForms {
  const cacheControl = maxAgeS === null ? NO_STORE : `private, max-age=${maxAgeS}`;
  const above = (bytes: number) => ({
    br: formsOf('br', bytes, cacheControl),
    gzip: formsOf('gzip', bytes, cacheControl),
  });
  return {
    plain: formsOf('identity', Infinity, cacheControl),
    compressed: above(COMPRESS_ABOVE_BYTES),
    alwaysCompressed: above(-1),
  };
}

const NOT_KEPT = smallForms(null);

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
/** The coding that a text asks for, and whether identity would do; null: none of ours. */
const acceptedCoding = remembering((acceptEncoding) => {
  const encoding = negotiateEncoding(acceptEncoding, ENCODINGS);
  return encoding && { encoding, takesIdentity: negotiateEncoding(acceptEncoding, []) !== null };
});

/**
 * What the request's Accept and Accept-Encoding ask for.
 * @throws ApiError 406
 */
export function negotiateForm(exchange: Exchange, forms: SmallForms = NOT_KEPT): SmallBodyForm {
  const mediaType = acceptedType(exchange.header('accept'));
  if (mediaType === null) throw notAcceptable('Accept', MEDIA_TYPES);
  const coding = acceptedCoding(exchange.header('accept-encoding'));
  if (coding === null) throw notAcceptable('Accept-Encoding', [...ENCODINGS, 'identity']);
  const { encoding, takesIdentity } = coding;
  if (encoding === 'identity') return forms.plain[mediaType];
  return (takesIdentity ? forms.compressed : forms.alwaysCompressed)[encoding][mediaType];
}

/** The headers of a request ask for forms that there are not. */
export function notAcceptable(header: string, offers: readonly string[]): ApiError {
  return new ApiError(406, 'not_acceptable', `${header}: expected any of ${offers.join(', ')}`);
}
