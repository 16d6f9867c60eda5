/** The forms in which a replay page is sent, and which of them a request gets. */
import { canEncode, type ContentEncoding } from '../../compute/replay/compress.js';
import type { PageFormat } from '../../compute/replay/render.js';
import { notAcceptable } from '../api/replies.js';
import type { Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { negotiateEncoding, negotiateMediaType } from '../http/negotiation.js';

/** Arrow's streaming format. */
export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

const FORMAT_OF_MEDIA_TYPE = {
  'application/json': 'json',
  'application/msgpack': 'msgpack',
  [ARROW_STREAM]: 'arrow',
} as const satisfies Record<string, PageFormat>;
type MediaType = keyof typeof FORMAT_OF_MEDIA_TYPE;

const MEDIA_TYPES = Object.keys(FORMAT_OF_MEDIA_TYPE) as MediaType[];

/** For clients that take several: at about the same speed the earlier ones make less of a page. */
const ENCODINGS = (['br', 'zstd', 'gzip'] as const).filter(canEncode);

export interface Representation {
  mediaType: MediaType;
  format: PageFormat;
  encoding: ContentEncoding;
}

/**
 * What the request's Accept and Accept-Encoding ask for.
 * @throws ApiError 406
 */
export function negotiate(exchange: Exchange): Representation {
  const mediaType = negotiateMediaType(exchange.header('accept'), MEDIA_TYPES);
  if (mediaType === null) throw notAcceptable('Accept', MEDIA_TYPES);
  const encoding = negotiateEncoding(exchange.header('accept-encoding'), ENCODINGS);
  if (encoding === null) throw notAcceptable('Accept-Encoding', [...ENCODINGS, 'identity']);
  return { mediaType, format: FORMAT_OF_MEDIA_TYPE[mediaType], encoding };
}

/** The headers that say in which form a page is sent. */
export function representationHeaders({ mediaType, encoding }: Representation): Headers {
  const type = ['Content-Type', mediaType] as const;
  return encoding === 'identity' ? [type] : [type, ['Content-Encoding', encoding]];
}
