/**
 * The price ranges of tokens in the hours in sight, and their pools' depth there. Tokens are reread
 * in the background when their depth changes, one at a time.
 */
import type { BaseTokenRanges } from '../../compute/lp/pool-range.js';
import type { HourPrices } from '../../compute/lp/price-range.js';
import type { Clock } from '../clock.js';
import { Turns } from '../../storage/turns.js';
import { Updater } from '../updater.js';
import {
  readTokenDepth,
  type RangeRequest,
  type TokenDepth,
  type TokenDepthServices,
} from './token-depth.js';

/** After each token, the next one waits three times as long as its work took, which keeps a thread free. */
const REST_FACTOR = 3;
/** This many tokens at the head of the queue count as about to be read. */
const NEXT_TOKENS = 4;
const RETRY_AFTER_MS = 10_000;
/** Longest wait of a board for the ranges of its new tokens. */
const READY_WAIT_MS = 500;
/** The same until a board has had the ranges of all tokens: after the start all tokens are new. */
const FIRST_READY_WAIT_MS = 5_000;

interface WantedRanges {
  pubkeys: readonly string[];
  prices: boolean;
}

const NOTHING_WANTED: WantedRanges = { pubkeys: [], prices: false };

interface RangeBookOptions extends TokenDepthServices {
  clock: Clock;
  /** Called with its request after each read of a token. */
  onChange: (request: RangeRequest) => void;
}

export class RangeBook {
  private readonly wanted = new Map<string, WantedRanges>();
  private thisHours: readonly number[] = [];
  private readonly known = new Map<string, TokenDepth>();
  /** Tokens with unknown wanted ranges. */
  private readonly lacking = new Set<string>();
  private waiting: (() => void)[] = [];
  /** Paced: a token whose depth keeps changing gets a bounded share of the time. */
  private readonly updater: Updater<string>;
  /** When the next token may be read, `performance.now()`. */
  private restUntilMs = 0;
  private closed = false;

  constructor(private readonly options: RangeBookOptions) {
    this.updater = new Updater({
      work: ([address]) => this.follow(address),
      failure: "a token's ranges could not be read",
      keyField: 'address',
      logger: options.logger,
      paced: true,
      retryAfterMs: RETRY_AFTER_MS,
    });
    this.updater.start();
  }

  /**
   * Replaces the pools whose ranges are wanted.
   * @param pubkeysOf by base token
   * @param thisHours hours that may be 'this hour' of the pools
   */
  wantPools(
    pubkeysOf: ReadonlyMap<string, readonly string[]>,
    thisHours: readonly number[],
  ): Promise<void> {
    this.thisHours = thisHours;
    return this.want(pubkeysOf, ({ prices }, address) => {
      return { prices, pubkeys: pubkeysOf.get(address) ?? [] };
    });
  }

  /** Replaces the tokens whose prices are wanted. */
  wantPrices(addresses: ReadonlySet<string>): Promise<void> {
    return this.want(addresses, ({ pubkeys }, address) => {
      return { pubkeys, prices: addresses.has(address) };
    });
  }

  /** Rereads tokens whose depth has changed. */
  touch(addresses: readonly string[]): void {
    this.updater.touch(addresses.filter((address) => this.wanted.has(address)));
  }

  /** Whether a token's last read was before a snapshot of `t` became visible. */
  isBefore(address: string, t: number): boolean {
    const known = this.known.get(address);
    return known !== undefined && known.request.nowS < t;
  }

  /** Whether a token is about to be read. */
  isNext(address: string): boolean {
    const { due } = this.updater;
    return due.size <= NEXT_TOKENS && due.has(address);
  }

  /** A token's prices in sight; null: none, or not read yet. */
  prices(address: string): HourPrices | null {
    return this.known.get(address)?.prices ?? null;
  }

  /** The known ranges of pools with this value of 'this hour'. */
  poolRanges(thisHourS: number): BaseTokenRanges[] {
    const found: BaseTokenRanges[] = [];
    for (const { request, ranges } of this.known.values()) {
      const ofHour = ranges.get(thisHourS);
      if (ofHour !== undefined) found.push({ pubkeys: request.pubkeys, ranges: ofHour });
    }
    return found;
  }

  /**
   * Resolves when all wanted ranges are known, or after the longest wait.
   * @returns whether the board's are known
   */
  async ready(board: 'pools' | 'prices', { first }: { first: boolean }): Promise<boolean> {
    if (this.lacking.size === 0) return true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, first ? FIRST_READY_WAIT_MS : READY_WAIT_MS);
      this.waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
    return ![...this.lacking].some((address) => {
      const { pubkeys, prices } = this.wanted.get(address) ?? NOTHING_WANTED;
      return board === 'pools' ? pubkeys.length > 0 : prices;
    });
  }

  /** Resolves when every touched token is read or has failed once. */
  settled(): Promise<void> {
    return this.updater.settled();
  }

  /** Stops reading, and waits for the current read. */
  async close(): Promise<void> {
    this.closed = true;
    this.wake();
    await this.updater.close();
  }

  private async want(
    addresses: { keys(): Iterable<string>; has(address: string): boolean },
    change: (before: WantedRanges, address: string) => WantedRanges,
  ): Promise<void> {
    const turns = new Turns();
    for (const address of addresses.keys()) {
      this.wantOne(address, change);
      await turns.take();
    }
    for (const address of this.wanted.keys()) {
      if (!addresses.has(address)) this.wantOne(address, change);
      await turns.take();
    }
    if (this.lacking.size === 0) this.wake();
  }

  private wantOne(
    address: string,
    change: (before: WantedRanges, address: string) => WantedRanges,
  ): void {
    const wanted = change(this.wanted.get(address) ?? NOTHING_WANTED, address);
    if (wanted.pubkeys.length === 0 && !wanted.prices) {
      this.forget(address);
      return;
    }
    this.wanted.set(address, wanted);
    if (!this.lacks(address)) return;
    this.lacking.add(address);
    this.updater.touchNow([address]);
  }

  private forget(address: string): void {
    this.wanted.delete(address);
    this.known.delete(address);
    this.lacking.delete(address);
    this.updater.forget(address);
  }

  private lacks(address: string): boolean {
    const wanted = this.wanted.get(address);
    const had = this.known.get(address)?.request;
    if (wanted === undefined) return false;
    if (had === undefined) return true;
    if (wanted.prices && !had.wantsPrices) return true;
    if (wanted.pubkeys.length === 0) return false;
    const isSame =
      wanted.pubkeys.length === had.pubkeys.length &&
      wanted.pubkeys.every((pubkey, i) => pubkey === had.pubkeys[i]);
    return !isSame || this.thisHours.some((hourS) => !had.thisHours.includes(hourS));
  }

  /** @returns the cost in milliseconds; null if a board waits for the token */
  private async follow(address: string): Promise<number | null> {
    const wasLacking = this.lacking.has(address);
    if (!wasLacking) await this.rest();
    const startMs = performance.now();
    try {
      await this.read(address);
    } catch (error) {
      // The boards are built without it.
      this.lacking.delete(address);
      throw error;
    } finally {
      if (this.lacking.size === 0) this.wake();
    }
    if (wasLacking || this.lacking.has(address)) return null;
    const tookMs = performance.now() - startMs;
    const { due } = this.updater;
    const hasNext = due.size > (due.has(address) ? 1 : 0);
    this.restUntilMs = hasNext ? performance.now() + REST_FACTOR * tookMs : 0;
    return tookMs;
  }

  private async rest(): Promise<void> {
    const restMs = this.restUntilMs - performance.now();
    if (restMs > 0 && !this.closed) await new Promise((resolve) => setTimeout(resolve, restMs));
  }

  private async read(address: string): Promise<void> {
    const { pubkeys, prices } = this.wanted.get(address) ?? NOTHING_WANTED;
    const { thisHours } = this;
    const nowS = this.options.clock.nowS();
    const request = { address, pubkeys, wantsPrices: prices, thisHours, nowS };
    const found = await readTokenDepth(this.options, request);
    if (!this.wanted.has(address)) return;
    this.known.set(address, found);
    if (this.lacks(address)) this.updater.touchNow([address]);
    else this.lacking.delete(address);
    this.options.onChange(request);
  }

  private wake(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }
}
