/** The documents of channels `score`, `top-scores` and `dca-pressure`: checked once a second, each once for all subscriptions. */
import type { Call, EndpointSpec } from '../api/endpoint.js';
import { parameterReader, type ReadingOptions } from '../api/parameters.js';
import { jsonOf } from '../api/replies.js';
import { ApiError } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { Turns } from '../../storage/turns.js';
import type { Channel, LiveFormat } from './protocol.js';
import { encodeMessage } from './protocol.js';

/** Documents also change without commits, as time passes, so each is checked at this interval. */
const POLL_EVERY_MS = 5_000;

/** An endpoint whose documents a channel sends. */
interface DocumentChannel {
  endpoint: EndpointSpec;
  handler: (call: Call) => unknown;
}

export interface DocumentRequest {
  channel: Exclude<Channel, 'depth'>;
  address: string | null;
  query: string;
}

type Listener = (encode: (format: LiveFormat) => Uint8Array) => void;

interface FollowedDocument {
  make: () => Promise<string>;
  text: string;
  polledMs: number;
  listeners: Set<Listener>;
}

/** What handlers get in place of an HTTP exchange. */
const NO_REQUEST = {
  aborted: false,
  header: () => '',
  addHeader: () => undefined,
  onGone: () => undefined,
} as unknown as Exchange;

export class DocumentFeed {
  private readonly followed = new Map<string, FollowedDocument>();
  private isChanged = false;
  private isPolling = false;

  constructor(
    private readonly channels: Readonly<Record<DocumentRequest['channel'], DocumentChannel>>,
    private readonly reading: ReadingOptions,
    private readonly onError: (error: unknown) => void,
  ) {}

  endpointOf(channel: DocumentRequest['channel']): EndpointSpec {
    return this.channels[channel].endpoint;
  }

  /** Call after each commit. */
  touch(): void {
    this.isChanged = true;
  }

  /**
   * Calls `listener` with the document, and again when it changes.
   * @returns a function that stops this
   * @throws ApiError 400
   */
  async follow(
    request: DocumentRequest,
    key: Call['key'],
    listener: Listener,
  ): Promise<() => void> {
    const name = `${request.channel} ${request.address} ${request.query}`;
    let followed = this.followed.get(name);
    if (followed === undefined) {
      const make = this.maker(request, key);
      const text = await make();
      followed = this.followed.get(name) ?? {
        make,
        text,
        polledMs: performance.now(),
        listeners: new Set(),
      };
      this.followed.set(name, followed);
    }
    const own = followed;
    own.listeners.add(listener);
    listener(encoderOf(request.channel, own.text));
    return () => {
      own.listeners.delete(listener);
      if (own.listeners.size === 0 && this.followed.get(name) === own) this.followed.delete(name);
    };
  }

  /** Looks for changes. Call it once a second. */
  async poll(): Promise<void> {
    if (this.isPolling) return;
    this.isPolling = true;
    const { isChanged } = this;
    this.isChanged = false;
    const turns = new Turns();
    for (const [name, one] of [...this.followed]) {
      await turns.take();
      const nowMs = performance.now();
      if (!isChanged && nowMs - one.polledMs < POLL_EVERY_MS) continue;
      one.polledMs = nowMs;
      try {
        const text = await one.make();
        if (text === one.text) continue;
        one.text = text;
        const encode = encoderOf(name.slice(0, name.indexOf(' ')), text);
        for (const listener of [...one.listeners]) {
          listener(encode);
          await turns.take();
        }
      } catch (error) {
        // The handler refuses for now; the next poll may succeed.
        if (!(error instanceof ApiError)) this.onError(error);
      }
    }
    this.isPolling = false;
  }

  private maker(
    { channel, address, query }: DocumentRequest,
    key: Call['key'],
  ): () => Promise<string> {
    const { endpoint, handler } = this.channels[channel];
    const read = parameterReader(endpoint, { ...this.reading, channel });
    return async () => {
      const call = { ...read({ query }, address, null), key, exchange: NO_REQUEST };
      return jsonOf((await handler(call)) as object);
    };
  }
}

/** Encodes a document with its channel, once for each format. */
function encoderOf(channel: string, text: string): (format: LiveFormat) => Uint8Array {
  const made = new Map<LiveFormat, Uint8Array>();
  return (format) => {
    let bytes = made.get(format);
    if (bytes === undefined) {
      bytes = encodeMessage(format, { channel, document: JSON.parse(text) as object });
      made.set(format, bytes);
    }
    return bytes;
  };
}

/** Fields of an encoded document. */
export const DOCUMENT_FIELDS = 2;
