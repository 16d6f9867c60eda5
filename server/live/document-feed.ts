/**
 * The documents of channels `score`, `top-scores` and `dca-pressure`: made again when what they show may have changed,
 * each once for all subscriptions.
 */
import { createHash } from 'node:crypto';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Call, EndpointSpec, Handlers } from '../api/endpoint.js';
import { parameterReader, type ReadingOptions } from '../api/parameters.js';
import { jsonOf } from '../api/replies.js';
import { ApiError } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { Turns } from '../../storage/turns.js';
import type { ENDPOINTS } from '../endpoints.js';
import { getDcaPressure } from '../orders/dca-pressure.js';
import { getScore } from '../scores/score.js';
import { getTopScores } from '../scores/top-scores.js';
import type { Channel, LiveFormat } from './protocol.js';
import { encodeMessage } from './protocol.js';

/** Documents also change without commits, as time passes, so each is made again at this interval. */
const REMAKE_EVERY_MS = 5_000;
/** After a document, its key rests as long as the document took, within these limits: a key gets half of the loop. */
const MIN_REST_MS = 1;
const MAX_REST_MS = 50;

/** The handlers of the endpoints whose documents the channels send. */
export type DocumentHandlers = Pick<
  Handlers<typeof ENDPOINTS>,
  'getScore' | 'getTopScores' | 'getDcaPressure'
>;

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

/** Gets a document, which it must not keep: a reply may have hundreds of kilobytes. */
type Listener = (encode: (format: LiveFormat) => Uint8Array) => void;

/** What a listener may do about its document. */
export interface Following {
  /** Has the document sent once more, to this listener. */
  catchUp(): void;
  /** Ends the calls. */
  leave(): void;
}

interface FollowedDocument {
  channel: string;
  make: () => Promise<string>;
  /** Of the text sent last: texts can be hundreds of kilobytes. */
  digest: string;
  madeMs: number;
  /** The keys of the listeners. */
  listeners: Map<Listener, string>;
  /** Listeners that missed the document. */
  behind: Set<Listener>;
}

/** What handlers get in place of an HTTP exchange. */
const NO_REQUEST = {
  aborted: false,
  header: () => '',
  addHeader: () => undefined,
  onGone: () => undefined,
} as unknown as Exchange;

export class DocumentFeed {
  private readonly channels: Readonly<Record<DocumentRequest['channel'], DocumentChannel>>;
  private readonly followed = new Map<string, FollowedDocument>();
  /** For each key with due documents: those to be made again, in order. A document of several followers is due for each. */
  private readonly due = new Map<string, Set<FollowedDocument>>();
  private isChanged = false;

  constructor(
    handlers: DocumentHandlers,
    private readonly reading: ReadingOptions,
    private readonly onError: (error: unknown) => void,
  ) {
    const channel = (endpoint: unknown, handler: unknown) => ({ endpoint, handler }) as never;
    this.channels = {
      score: channel(getScore, handlers.getScore),
      'top-scores': channel(getTopScores, handlers.getTopScores),
      'dca-pressure': channel(getDcaPressure, handlers.getDcaPressure),
    };
  }

  endpointOf(channel: DocumentRequest['channel']): EndpointSpec {
    return this.channels[channel].endpoint;
  }

  /** Call when what documents show may have changed. */
  touch(): void {
    this.isChanged = true;
  }

  /**
   * Calls `listener` with the document, and again when it changes.
   * @throws ApiError 400, and what the endpoint answers instead of a document
   */
  async follow(request: DocumentRequest, key: Call['key'], listener: Listener): Promise<Following> {
    const name = `${request.channel} ${request.address} ${request.query}`;
    const make = this.followed.get(name)?.make ?? this.maker(request, key);
    const text = await make();
    const madeMs = performance.now();
    const { channel } = request;
    const one = this.followed.get(name) ?? {
      channel,
      make,
      digest: digestOf(text),
      madeMs,
      listeners: new Map(),
      behind: new Set(),
    };
    this.followed.set(name, one);
    one.listeners.set(listener, key.id);
    listener(encoderOf(channel, text));
    return {
      catchUp: () => {
        if (!one.listeners.has(listener)) return;
        one.behind.add(listener);
        this.makeDue(one);
      },
      leave: () => {
        one.listeners.delete(listener);
        one.behind.delete(listener);
        if (one.listeners.size === 0 && this.followed.get(name) === one) this.followed.delete(name);
      },
    };
  }

  /** Looks for documents to make again. Call it once a second. */
  poll(): void {
    const nowMs = performance.now();
    for (const one of this.followed.values()) {
      if (this.isChanged || nowMs - one.madeMs >= REMAKE_EVERY_MS) this.makeDue(one);
    }
    this.isChanged = false;
  }

  private makeDue(one: FollowedDocument): void {
    for (const keyId of one.listeners.values()) {
      const documents = this.due.get(keyId);
      if (documents !== undefined) documents.add(one);
      else {
        const first = new Set([one]);
        this.due.set(keyId, first);
        void this.makeAll(keyId, first);
      }
    }
  }

  /** Makes what is due for a key, one after the other: many documents, or slow ones, delay those of no other key. */
  private async makeAll(keyId: string, documents: Set<FollowedDocument>): Promise<void> {
    // By then, what is due at the same time is listed.
    await setImmediate();
    const turns = new Turns();
    for (const one of documents) {
      documents.delete(one);
      if (one.listeners.size === 0) continue;
      for (const other of one.listeners.values()) this.due.get(other)?.delete(one);
      await turns.take();
      const beganMs = performance.now();
      await this.makeAgain(one, turns);
      const tookMs = performance.now() - beganMs;
      if (tookMs >= MIN_REST_MS) await sleep(Math.min(tookMs, MAX_REST_MS));
    }
    this.due.delete(keyId);
  }

  private async makeAgain(one: FollowedDocument, turns: Turns): Promise<void> {
    one.madeMs = performance.now();
    try {
      const text = await one.make();
      const digest = digestOf(text);
      const listeners = digest === one.digest ? one.behind : one.listeners.keys();
      one.digest = digest;
      const receivers = [...listeners];
      one.behind.clear();
      const encode = encoderOf(one.channel, text);
      for (const listener of receivers) {
        listener(encode);
        await turns.take();
      }
    } catch (error) {
      // The handler refuses for now; a later attempt may succeed.
      if (!(error instanceof ApiError)) this.onError(error);
    }
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

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
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
