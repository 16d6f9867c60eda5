/** A book followed over a WebSocket: subscribed, kept whole, and begun anew when something is wrong. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../storage/errors.js';
import { JsonFields } from '../storage/import/fields.js';
import { OrderBook } from '../storage/import/order-book.js';
import { CROSSED, sampleOfBook } from './book-sample.js';
import { parseMessage } from './capture-lines.js';
import { type BookType, MAX_MESSAGE_BYTES, refusalOf, type Rest, type Stream } from './exchange.js';
import { type ExchangeMarket, lossesOf, urlAt } from './exchange-market.js';
import { FeedBook, isVerifiable } from './feed-book.js';
import type { BookUpdate } from './messages.js';
import {
  isMissing,
  type Missing,
  type ResyncCause,
  type Sample,
  type Source,
  type SourceContext,
} from './source.js';
import { connect, type Socket } from './socket.js';

/** Times that tests shorten. */
export const STREAM_TIMES = {
  /** The first wait before a new connection, doubled each time up to the last, half of it by chance. */
  firstWaitMs: 1_000,
  lastWaitMs: 60_000,
  pingEveryMs: 15_000,
  /** A connection from which nothing at all comes for this long is dead. */
  silenceMs: 45_000,
  /** The first wait before a book is asked for by REST. */
  firstRestMs: 250,
  lastRestMs: 30_000,
  /** How long a subscription without a book is kept. */
  bookMs: 60_000,
  /**
   * How long a subscription is kept that says nothing: it may have ended while its connection answers pings. Twice as
   * long each time that the new book is the old one, up to renewMs.
   */
  quietMs: 120_000,
  /** How long a subscription is kept in which nothing shows a loss; up to half more by chance. */
  renewMs: 1_800_000,
};
export type StreamTimes = typeof STREAM_TIMES;

/** Why a connection ended. */
interface End {
  cause: ResyncCause;
  why: string;
}

/** A stale book has had no message for this many intervals. */
const STALE_INTERVALS = 3;
/** Levels of a side by which the books of two subscriptions are compared. */
const COMPARED_LEVELS = 20;

/** After so many replies by REST without a book, the connection has as long as any for one. */
const PATIENT_REPLIES = 3;

export class StreamSource implements Source {
  readonly name: string;
  readonly venue: string;
  readonly exchangeType = 'CEX';
  readonly type: BookType;
  readonly losses: string;
  readonly compared: string | null;
  private readonly orders = new OrderBook();
  private readonly feed: FeedBook;
  private readonly stopping = new AbortController();
  private socket: Socket | null = null;
  /** Of the connection: what it has told of levels, and its last number. */
  private state = new Map<string, number>();
  private lastNumber: number | null = null;
  /** Why the book is not whole. */
  private trouble = 'connecting';
  private tries = 0;
  private isOpen = false;
  private heardMs = 0;
  /** When the book last changed. */
  private changedMs = 0;
  private subscribedMs = 0;
  private renewAfterMs = 0;
  private sampledMs = 0;
  /** The best levels of the book that said nothing, until the new one comes. */
  private quiet: string | null = null;
  private quietTimes = 0;
  /** Whether the book is being asked for by REST. */
  private isFetching = false;
  /** Aborts when the connection ends, or the source stops. */
  private sessionSignal: AbortSignal = this.stopping.signal;
  /** Since when a book may be missing: while its first requests wait for their turns, none is expected. */
  private bookDueMs = 0;
  /** Requests for the book that were answered, or failed, on this connection. */
  private restReplies = 0;
  private endSession: (end: End) => void = () => undefined;

  constructor(
    private readonly market: ExchangeMarket,
    private readonly context: SourceContext,
    private readonly times: StreamTimes = STREAM_TIMES,
  ) {
    const { id, venue, exchange } = market;
    [this.name, this.venue, this.type] = [id, venue, market.type];
    this.losses = lossesOf(exchange);
    this.compared = exchange.seen === null ? null : `messages of ${exchange.seen}`;
    this.feed = new FeedBook(exchange.rules, this.orders, (message) => this.orders.apply(message));
  }

  start(): void {
    void this.run();
  }

  stop(): void {
    this.stopping.abort();
    this.socket?.cut();
    this.endSession({ cause: 'closed', why: 'stopped' });
  }

  sample(): Sample | Missing {
    const now = performance.now();
    if (!this.feed.isWhole) return { missing: this.trouble };
    const sorted = this.orders.sorted();
    const reason = this.feed.verify(sorted);
    if (reason !== null) return this.lost({ cause: 'checksum', why: reason });
    const silentMs = now - this.heardMs;
    if (silentMs > STALE_INTERVALS * this.context.everyS * 1000) {
      return { missing: `no message for ${Math.round(silentMs / 1000)} s` };
    }
    const { symbol } = this.market;
    const sample = sampleOfBook(sorted, symbol, this.market, now - this.changedMs);
    if (isMissing(sample) && sample.missing === CROSSED) {
      return this.lost({ cause: 'crossed', why: CROSSED });
    }
    this.tries = 0;
    this.sampledMs = now;
    // Right after a sample there is time for a new book before the next.
    if (!this.renewIfQuiet(now) && this.isDueForRenewal(now)) this.renew();
    return sample;
  }

  private isDueForRenewal(now: number): boolean {
    const { exchange } = this.market;
    const showsLosses = isVerifiable(exchange.rules) || exchange.connectionNumber !== undefined;
    return !showsLosses && now - this.subscribedMs > this.renewAfterMs;
  }

  /** Subscribes anew if nothing has been said of the book for long. @returns whether it does */
  private renewIfQuiet(now: number): boolean {
    const { quietMs, renewMs } = this.times;
    const mostMs = Math.min(renewMs, quietMs * 2 ** Math.min(this.quietTimes, 16));
    if (!this.feed.isWhole || now - this.changedMs <= mostMs) return false;
    this.quiet = this.best();
    this.renew();
    return true;
  }

  private renew(): void {
    this.end({ cause: 'renewed', why: 'subscribes anew' });
  }

  private best(): string {
    const { bids, asks } = this.orders.sorted();
    return JSON.stringify([bids, asks].map((side) => side.slice(0, COMPARED_LEVELS)));
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const { times } = this;
    while (!signal.aborted) {
      const { cause, why } = await this.session().catch((error: unknown): End => ({
        cause: 'closed',
        why: messageOf(error),
      }));
      if (signal.aborted) break;
      this.forget();
      this.trouble = why;
      this.context.onResync(this.name, cause);
      if (cause === 'renewed') continue;
      const waitMs = Math.min(
        times.lastWaitMs,
        times.firstWaitMs * 2 ** Math.min(this.tries++, 16),
      );
      await pause(waitMs * (0.5 + Math.random()), signal);
    }
    this.forget();
  }

  private forget(): void {
    this.feed.lose();
    this.orders.clear();
    this.state = new Map();
    this.lastNumber = null;
  }

  /** One connection. @returns why it ended */
  private async session(): Promise<End> {
    const { signal } = this.stopping;
    const { times, market } = this;
    const { stream, rest } = market.exchange;
    if (stream === null) throw new Error('captures only');
    const url = await this.address(stream);
    const { host } = new URL(url);
    await this.context.rest.turn(host, signal);
    return new Promise((resolve) => {
      let isOver = false;
      let pingedMs = performance.now();
      const ending = new AbortController();
      this.sessionSignal = AbortSignal.any([signal, ending.signal]);
      const end = (reason: End): void => {
        if (isOver) return;
        isOver = true;
        // A request that still waits for its turn would be for nothing.
        ending.abort();
        clearInterval(timer);
        socket.cut();
        this.socket = null;
        resolve(reason);
      };
      // A book is stale after 3 intervals without a message: an answer to a ping must come in between.
      const everyMs = this.context.everyS * 1000;
      const pingEveryMs = Math.min(times.pingEveryMs, everyMs);
      const look = (): void => {
        const now = performance.now();
        if (this.isFetching && this.restReplies < PATIENT_REPLIES) this.bookDueMs = now;
        if (now - this.heardMs > times.silenceMs) {
          end({ cause: 'silent', why: `nothing came for ${seconds(times.silenceMs)}` });
        } else if (this.isOpen && !this.feed.isWhole && now - this.bookDueMs > times.bookMs) {
          end({ cause: 'silent', why: `no book within ${seconds(times.bookMs)}: ${this.trouble}` });
        } else if (now - Math.max(this.sampledMs, this.subscribedMs) < everyMs / 2) {
          // Long before the next sample.
          this.renewIfQuiet(now);
        }
        if (!isOver && now - pingedMs > pingEveryMs) {
          pingedMs = now;
          if (stream.ping === undefined) socket.ping();
          else socket.send(textOf(stream.ping));
        }
      };
      this.heardMs = performance.now();
      this.isOpen = false;
      let refused: ResyncCause | null = null;
      const socket = connect(url, stream.maxMessageBytes ?? MAX_MESSAGE_BYTES, {
        onOpen: () => {
          this.isOpen = true;
          this.heardMs = this.subscribedMs = this.bookDueMs = performance.now();
          this.restReplies = 0;
          this.renewAfterMs = times.renewMs * (1 + Math.random() / 2);
          this.trouble = 'no book yet';
          for (const message of stream.subscribe(market)) socket.send(textOf(message));
          if (rest !== undefined) void this.fetchBook(rest);
        },
        onMessage: (text) => {
          this.heardMs = performance.now();
          try {
            this.message(text, stream);
          } catch (error) {
            end({ cause: 'malformed', why: messageOf(error) });
          }
        },
        onHeard: () => (this.heardMs = performance.now()),
        onRefused: (status, headers) => {
          refused = 'refused';
          this.context.rest.refused(host, status, headers);
        },
        onEnd: (why, isTooLong) =>
          end({ cause: isTooLong ? 'malformed' : (refused ?? 'closed'), why }),
      });
      const timer = setInterval(look, Math.min(1_000, pingEveryMs / 2));
      this.socket = socket;
      this.endSession = end;
    });
  }

  private async address(stream: Stream): Promise<string> {
    const { market, context } = this;
    const { address } = stream;
    if (market.url !== undefined || address === undefined) {
      return urlAt(market.url, stream.url(market));
    }
    const at = urlAt(market.restUrl, address.url);
    return address.read(await context.rest.fetch(at, this.stopping.signal, { method: 'POST' }));
  }

  private end(end: End): void {
    this.endSession(end);
  }

  private message(text: string, stream: Stream): void {
    const { exchange, symbol } = this.market;
    // The answer to a ping that is no JSON.
    if (text === 'pong') return;
    const prepared = exchange.prepare?.(text) ?? text;
    const fields = new JsonFields(this.name, parseMessage(prepared, this.name));
    const refused = refusalOf(fields);
    if (refused !== null) {
      this.end({ cause: 'refused', why: `refused: ${refused}` });
      return;
    }
    const answer = stream.answer?.(fields);
    if (answer !== undefined) this.socket?.send(textOf(answer));
    if (stream.asksForRestart?.(fields) === true) {
      this.end({ cause: 'restart', why: 'the exchange asks for a new connection' });
      return;
    }
    const number = exchange.connectionNumber?.(fields) ?? null;
    if (number !== null) {
      const last = this.lastNumber;
      this.lastNumber = number;
      if (last !== null && number !== last + 1) {
        this.end({ cause: 'sequence', why: `message ${number} does not follow ${last}` });
        return;
      }
    }
    const wanted = symbol.toLowerCase();
    exchange.read(
      fields,
      (of, read) => {
        if (of.toLowerCase() === wanted) this.take(read());
      },
      this.state,
    );
  }

  private take(update: BookUpdate): void {
    const reason = this.change(update);
    if (reason !== null) this.lost({ cause: 'sequence', why: reason });
  }

  private change(update: BookUpdate): string | null {
    const reason = this.feed.take(update);
    this.changedMs = performance.now();
    if (this.feed.isWhole && this.quiet !== null) {
      const isSame = this.best() === this.quiet;
      this.quietTimes = isSame ? this.quietTimes + 1 : 0;
      this.quiet = null;
      if (!isSame) {
        this.context.log(
          `${this.name}: the book of its new subscription differs: the old one had ended`,
        );
      }
    } else if (this.feed.isWhole) this.quietTimes = 0;
    return reason;
  }

  /** The book is lost: it comes again by REST, or with a new subscription. */
  private lost(end: End): Missing {
    const { rest } = this.market.exchange;
    this.orders.clear();
    this.trouble = end.why;
    if (rest === undefined || end.cause !== 'sequence') this.end(end);
    else {
      this.context.onResync(this.name, end.cause);
      void this.fetchBook(rest);
    }
    return { missing: end.why };
  }

  /** Asks for the book by REST until it fits the updates, or the connection ends. */
  private async fetchBook(rest: Rest): Promise<void> {
    if (this.isFetching) return;
    this.isFetching = true;
    const { times, market, socket, sessionSignal: signal } = this;
    const url = urlAt(market.restUrl, rest.url(market));
    try {
      for (
        let tries = 0;
        this.socket === socket && !signal.aborted && !this.feed.isWhole;
        tries++
      ) {
        const waitMs = Math.min(times.lastRestMs, times.firstRestMs * 2 ** Math.min(tries, 16));
        // By chance: connections that were cut together do not ask together.
        await pause(waitMs * (0.5 + Math.random()), signal);
        try {
          const fetched = this.context.rest.fetch(url, signal, rest);
          const update = rest.read(await fetched.finally(() => this.restReplies++));
          if (this.socket !== socket || this.feed.isWhole) return;
          const reason = this.change(update);
          if (reason === null) continue;
          this.orders.clear();
          this.trouble = reason;
        } catch (error) {
          // What did not fit may have been applied in part.
          if (this.socket === socket && !this.feed.isWhole) this.orders.clear();
          this.trouble = messageOf(error);
        }
      }
    } finally {
      this.isFetching = false;
      // A connection that began meanwhile needs its own.
      if (this.socket !== socket && this.socket !== null && !this.feed.isWhole) {
        void this.fetchBook(rest);
      }
    }
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const textOf = (message: unknown): string =>
  typeof message === 'string' ? message : JSON.stringify(message);

/** A wait that an abort ends, too. */
const pause = (ms: number, signal: AbortSignal): Promise<unknown> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
