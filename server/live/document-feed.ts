/** The documents of channels `score`, `top-scores` and `dca-pressure`: checked once a second, each once for all subscriptions. */
import type { Call, EndpointSpec } from '../api/endpoint.js';
import { parameterReader, type ReadingOptions } from '../api/parameters.js';
import { KeptReply } from '../api/replies.js';
import { ApiError } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { Turns } from '../../storage/turns.js';
import type { Channel, LiveFormat } from './protocol.js';
import { encodeMessage } from './protocol.js';

/** Time alone also changes documents: each is checked at this interval. */
const LOOK_EVERY_MS = 5_000;

/** A channel's endpoint, and the handler that makes its documents. */
interface DocumentChannel {
  endpoint: EndpointSpec;
  handler: (call: Call) => unknown;
}

/** What a subscription asks for. */
export interface Asked {
  channel: Exclude<Channel, 'depth'>;
  address: string | null;
  query: string;
}

type Listener = (encode: (format: LiveFormat) => Uint8Array) => void;

/** A document that clients follow. */
interface Followed {
  make: () => Promise<string>;
  text: string;
  lookedMs: number;
  listeners: Set<Listener>;
}

/** What handlers ask of a request that came over a live connection. */
const NO_REQUEST = {
  aborted: false,
  header: () => '',
  addHeader: () => undefined,
  onGone: () => undefined,
} as unknown as Exchange;

export class DocumentFeed {
  private readonly followed = new Map<string, Followed>();
  private isChanged = false;
  private isLooking = false;

  constructor(
    private readonly channels: Readonly<Record<Asked['channel'], DocumentChannel>>,
    private readonly reading: ReadingOptions,
    private readonly onError: (error: unknown) => void,
  ) {}

  endpointOf(channel: Asked['channel']): EndpointSpec {
    return this.channels[channel].endpoint;
  }

  /** A commit has changed something. */
  touch(): void {
    this.isChanged = true;
  }

  /**
   * Calls `listener` with the document, and again when it changes.
   * @returns ends that
   * @throws ApiError 400
   */
  async follow(asked: Asked, key: Call['key'], listener: Listener): Promise<() => void> {
    const name = `${asked.channel} ${asked.address} ${asked.query}`;
    let followed = this.followed.get(name);
    if (followed === undefined) {
      const make = this.maker(asked, key);
      const text = await make();
      followed = this.followed.get(name) ?? {
        ...{ make, text, lookedMs: performance.now(), listeners: new Set() },
      };
      this.followed.set(name, followed);
    }
    const own = followed;
    own.listeners.add(listener);
    listener(encoderOf(asked.channel, own.text));
    return () => {
      own.listeners.delete(listener);
      if (own.listeners.size === 0 && this.followed.get(name) === own) this.followed.delete(name);
    };
  }

  /** Looks for changes; call it once a second. */
  async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    const { isChanged } = this;
    this.isChanged = false;
    const turns = new Turns();
    for (const [name, one] of [...this.followed]) {
      await turns.take();
      const nowMs = performance.now();
      if (!isChanged && nowMs - one.lookedMs < LOOK_EVERY_MS) continue;
      one.lookedMs = nowMs;
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
        // For now it cannot be made: the next look may find it.
        if (!(error instanceof ApiError)) this.onError(error);
      }
    }
    this.isLooking = false;
  }

  private maker({ channel, address, query }: Asked, key: Call['key']): () => Promise<string> {
    const { endpoint, handler } = this.channels[channel];
    const read = parameterReader(endpoint, this.reading);
    return async () => {
      const call = { ...read({ query }, address, null), key, exchange: NO_REQUEST };
      const reply = await handler(call);
      return JSON.stringify(reply instanceof KeptReply ? reply.document : reply);
    };
  }
}

/** Encodes a document and its channel, once for each format. */
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
