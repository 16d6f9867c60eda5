/**
 * Where tokens' prices went in the hours in sight, and their pools' depth there, kept by token. It
 * follows the tokens' depth by itself, one token at a time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseTokenRanges } from '../../compute/lp/pool-range.js';
import type { HourPrices } from '../../compute/lp/price-range.js';
import type { Clock } from '../clock.js';
import {
  readTokenDepth,
  type DepthServices,
  type RangeRequest,
  type TokenDepth,
} from './token-depth.js';

/** While a token's depth keeps coming, so many times what a look costs lies between two. */
const PAUSE_FACTOR = 10;
/** The longest of these pauses. */
const MAX_PAUSE_MS = 15_000;
/** After a quiet time a token may be looked at so many times without a pause. */
const BURST = 3;
/** After each of them readers have a thread for so many times what it took. */
const REST_FACTOR = 3;
/** So many tokens are looked at in a moment. */
const NEXT_TOKENS = 4;
/** How often tokens in a pause are looked for. */
const WAKE_MS = 100;
/** A token that could not be read is tried again after this. */
const RETRY_AFTER_MS = 10_000;

interface Wanted {
  pubkeys: readonly string[];
  prices: boolean;
}

const NOTHING_WANTED: Wanted = { pubkeys: [], prices: false };

export interface RangeBookOptions extends DepthServices {
  clock: Clock;
  /** Told of each token that has been looked at, and what for. */
  onChange: (request: RangeRequest) => void;
}

export class RangeBook {
  private readonly wanted = new Map<string, Wanted>();
  private thisHours: readonly number[] = [];
  private readonly known = new Map<string, TokenDepth>();
  /** Tokens to be looked at, in their order. */
  private readonly due = new Set<string>();
  /** The same at a time (performance.now) to come. */
  private readonly delayed = new Map<string, number>();
  /** By token, when its looks are paid for (each puts that off), and its last pause. */
  private readonly debts = new Map<string, { paidMs: number; pauseMs: number }>();
  /** Tokens of which something is wanted that is not known. */
  private readonly lacking = new Set<string>();
  private waiting: (() => void)[] = [];
  private timer: NodeJS.Timeout | null = null;
  private following: Promise<void> | null = null;
  private closed = false;

  constructor(private readonly options: RangeBookOptions) {}

  /**
   * Says which pools' ranges are wanted: by base token, in place of what was wanted before.
   * @param thisHours hours that may be 'this hour' of the pools
   */
  wantPools(pubkeysOf: ReadonlyMap<string, readonly string[]>, thisHours: readonly number[]): void {
    this.thisHours = thisHours;
    this.want([...pubkeysOf.keys()], ({ prices }, address) => {
      return { prices, pubkeys: pubkeysOf.get(address) ?? [] };
    });
  }

  /** Says of which tokens prices are wanted, in place of those before. */
  wantPrices(addresses: readonly string[]): void {
    const asked = new Set(addresses);
    this.want(addresses, ({ pubkeys }, address) => ({ pubkeys, prices: asked.has(address) }));
  }

  /** Takes note of tokens whose depth has changed. */
  touch(addresses: Iterable<string>): void {
    const nowMs = performance.now();
    for (const address of addresses) {
      if (!this.wanted.has(address) || this.due.has(address)) continue;
      const { paidMs, pauseMs } = this.debts.get(address) ?? { paidMs: 0, pauseMs: 0 };
      const atMs = Math.min(paidMs - (BURST - 1) * pauseMs, nowMs + MAX_PAUSE_MS);
      if (atMs <= nowMs) this.due.add(address);
      else if (!this.delayed.has(address)) this.delayed.set(address, atMs);
    }
    this.follow();
    this.wakeLater();
  }

  /** Whether a token was looked at last when a snapshot of `t` was not visible yet. */
  isBefore(address: string, t: number): boolean {
    const known = this.known.get(address);
    return known !== undefined && known.request.nowS < t;
  }

  /** Whether a token is about to be looked at. */
  isNext(address: string): boolean {
    return this.due.size <= NEXT_TOKENS && this.due.has(address);
  }

  /** A token's prices in sight; null where it has none, or has not been looked at yet. */
  prices(address: string): HourPrices | null {
    return this.known.get(address)?.prices ?? null;
  }

  /** What is known of pools' ranges for one this hour. */
  poolRanges(thisHourS: number): BaseTokenRanges[] {
    const found: BaseTokenRanges[] = [];
    for (const { request, ranges } of this.known.values()) {
      const ofHour = ranges.get(thisHourS);
      if (ofHour !== undefined) found.push({ pubkeys: request.pubkeys, ranges: ofHour });
    }
    return found;
  }

  /** Resolves when something is known of all that is wanted, at the latest after `waitMs`. */
  async ready(waitMs: number): Promise<void> {
    if (this.lacking.size === 0) return;
    const ending = new AbortController();
    const known = new Promise<void>((resolve) => this.waiting.push(resolve));
    const late = sleep(waitMs, undefined, { signal: ending.signal }).catch(() => undefined);
    await Promise.race([known, late]);
    ending.abort();
  }

  /** Looks at once at all that waits, and resolves when that is done. */
  async settled(): Promise<void> {
    for (const address of [...this.delayed.keys()]) this.makeDue(address);
    this.follow();
    while (this.following !== null) await this.following;
  }

  /** Looks at no more tokens, and waits for what is under way. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.wake();
    await this.following;
  }

  private want(
    addresses: readonly string[],
    change: (before: Wanted, address: string) => Wanted,
  ): void {
    for (const address of new Set([...addresses, ...this.wanted.keys()])) {
      const wanted = change(this.wanted.get(address) ?? NOTHING_WANTED, address);
      if (wanted.pubkeys.length === 0 && !wanted.prices) this.forget(address);
      else {
        this.wanted.set(address, wanted);
        if (!this.lacks(address)) continue;
        this.lacking.add(address);
        this.makeDue(address);
      }
    }
    if (this.lacking.size === 0) this.wake();
    this.follow();
  }

  private forget(address: string): void {
    this.wanted.delete(address);
    this.known.delete(address);
    this.due.delete(address);
    this.delayed.delete(address);
    this.debts.delete(address);
    this.lacking.delete(address);
  }

  private makeDue(address: string): void {
    this.delayed.delete(address);
    this.due.add(address);
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

  /** Looks from time to time for tokens whose pause is over, for as long as there are any. */
  private wakeLater(): void {
    if (this.closed || this.timer !== null || this.delayed.size === 0) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      const nowMs = performance.now();
      for (const [address, atMs] of this.delayed) if (atMs <= nowMs) this.makeDue(address);
      this.follow();
      this.wakeLater();
    }, WAKE_MS);
    this.timer.unref();
  }

  private follow(): void {
    if (this.closed || this.following !== null || this.due.size === 0) return;
    this.following = this.work().finally(() => {
      this.following = null;
      // What was touched between the last look and now.
      this.follow();
    });
  }

  private async work(): Promise<void> {
    // Commits come in quick succession: those of one moment are one look.
    await Promise.resolve();
    for (const address of this.due) {
      if (this.closed) return;
      this.due.delete(address);
      const startMs = performance.now();
      const isNew = this.lacking.has(address);
      await this.look(address);
      if (isNew) continue;
      const tookMs = performance.now() - startMs;
      this.charge(address, tookMs);
      if (this.due.size > 0 && !this.closed) await sleep(REST_FACTOR * tookMs);
    }
  }

  /** Never rejects: a token that cannot be read is logged, and tried again later. */
  private async look(address: string): Promise<void> {
    try {
      const request = this.requestOf(address);
      const found = await readTokenDepth(this.options, request);
      if (!this.wanted.has(address)) return;
      this.known.set(address, found);
      if (this.lacks(address)) this.makeDue(address);
      else this.lacking.delete(address);
      this.options.onChange(request);
    } catch (error) {
      if (this.closed) return;
      this.options.log.error("a token's ranges could not be read", { address }, error);
      this.delayed.set(address, performance.now() + RETRY_AFTER_MS);
      this.wakeLater();
      this.lacking.delete(address);
    }
    if (this.lacking.size === 0) this.wake();
  }

  private charge(address: string, tookMs: number): void {
    if (!this.wanted.has(address)) return;
    const { paidMs } = this.debts.get(address) ?? { paidMs: 0 };
    const pauseMs = Math.min(PAUSE_FACTOR * tookMs, MAX_PAUSE_MS);
    this.debts.set(address, { paidMs: Math.max(paidMs, performance.now()) + pauseMs, pauseMs });
  }

  private requestOf(address: string): RangeRequest {
    const { pubkeys, prices } = this.wanted.get(address) ?? NOTHING_WANTED;
    const nowS = this.options.clock.nowS();
    return { address, pubkeys, wantsPrices: prices, thisHours: this.thisHours, nowS };
  }

  private wake(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }
}
