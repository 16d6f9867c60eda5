import { marketKey } from '../../compute/market.js';
import { InputError } from '../errors.js';
import { readLineBatches } from '../lines.js';
import { JsonFields, parseJsonObject } from './json.js';
import type { ImportOptions, ImportToken } from './options.js';
import type { PoolHead, PoolLayout } from './pool-state.js';
import type { ImportReport } from './report.js';
import { STABLECOIN_ADDRESSES } from './stablecoins.js';

/** Ticks and bins of the token's states that are held at once, as states of one time may lie apart. */
const MAX_HELD_LEVELS = 4_000_000;
const MAX_HELD_STATES = 500_000;

/** The snapshot that is put together for one time. */
interface PoolSnapshot {
  priceUsd: number;
  markets: object[];
  keys: Set<string>;
}

/**
 * Pool states as snapshots: those that hold the token and share a time become one, with a market
 * each, in ascending `t`. A state without a usable price or time, and a pool that the time has
 * already, is left out and reported.
 */
export async function* importPools(
  layout: PoolLayout,
  files: readonly string[],
  token: ImportToken,
  options: ImportOptions,
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  const snapshots = new PoolSnapshots(layout, token, options, report);
  for (const path of files) {
    for await (const lines of readLineBatches(path)) {
      for (const { line, text } of lines) if (text !== '') snapshots.add(`${path}:${line}`, text);
    }
  }
  yield* snapshots.rows();
}

class PoolSnapshots {
  private readonly byTime = new Map<number, PoolSnapshot>();
  private levels = 0;
  private states = 0;

  constructor(
    private readonly layout: PoolLayout,
    private readonly token: ImportToken,
    private readonly options: ImportOptions,
    private readonly report: ImportReport,
  ) {}

  add(where: string, text: string): void {
    const fields = new JsonFields(where, parseJsonObject(text, where));
    const head = this.layout.readHead(fields);
    this.report.messages++;
    const side = head.tokens.findIndex((token) => token.address === this.token.address);
    if (side < 0) return;
    const reason = this.place(fields, head, side as 0 | 1);
    if (reason !== null) {
      this.report.leftOut.add({ where, what: head.pool ?? pairOf(head), reason });
    }
  }

  *rows(): Generator<object, void, undefined> {
    const { chain, address } = this.token;
    const times = [...this.byTime.keys()].sort((a, b) => a - b);
    for (const t of times) {
      const { priceUsd, markets } = this.byTime.get(t)!;
      this.byTime.delete(t);
      yield { chain, address, t, tier: 'raw', price_usd: priceUsd, markets };
    }
  }

  /** Adds a state to its time's snapshot; returns why not where it cannot. */
  private place(fields: JsonFields, head: PoolHead, side: 0 | 1): string | null {
    const other = head.tokens[1 - side];
    if (other.address === this.token.address) return 'both sides are the token';
    const quoteUsd = this.quoteUsd(other.address);
    if (quoteUsd === null) {
      return `no price for ${other.symbol ?? 'the other side'}: --quote-usd ${other.address}=N`;
    }
    const t = head.t ?? this.options.atS;
    if (t === undefined) return 'the state has no time: --at TIME';
    const { price, body, levels } = this.layout.readBody(fields, head, side, quoteUsd);
    const priceUsd = price * quoteUsd;
    if (!(priceUsd > 0 && priceUsd < Infinity)) return 'the pool has no price';
    const source = this.options.source ?? head.source;
    const market = { source, address: head.pool, pair: pairOf(head) };
    const snapshot = this.snapshotAt(t, priceUsd);
    const key = marketKey(market);
    if (snapshot.keys.has(key)) return `a second state of the pool at ${t}: the first is kept`;
    snapshot.keys.add(key);
    snapshot.markets.push({ ...market, exchange_type: 'DEX', type: 'onchain_pool', ...body });
    this.countHeld(fields, levels);
    return null;
  }

  private snapshotAt(t: number, priceUsd: number): PoolSnapshot {
    let snapshot = this.byTime.get(t);
    if (snapshot === undefined) {
      snapshot = { priceUsd, markets: [], keys: new Set() };
      this.byTime.set(t, snapshot);
    }
    return snapshot;
  }

  private quoteUsd(address: string): number | null {
    const named = this.options.quoteUsdByAddress.get(address);
    return named ?? (STABLECOIN_ADDRESSES.has(address) ? 1 : null);
  }

  private countHeld(fields: JsonFields, levels: number): void {
    this.levels += levels;
    if (this.levels > MAX_HELD_LEVELS || ++this.states > MAX_HELD_STATES) {
      throw new InputError(
        `${fields.where}: more than ${MAX_HELD_STATES} states or ${MAX_HELD_LEVELS} ticks or bins ` +
          'of the token: import the times apart',
      );
    }
  }
}

function pairOf(head: PoolHead): string {
  return head.tokens.map((token) => token.symbol ?? token.address).join('/');
}
