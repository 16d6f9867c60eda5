/** A plain store (docs/definitions.md#datasets): snapshots in a map, markets in a list. */
import type { Removed } from '../../compute/segment/remove.js';
import type { Replaced } from '../../storage/operations.js';
import type { SnapshotRow, StoredSnapshot } from '../support/stores.js';

interface PlainSnapshot {
  tier: SnapshotRow['tier'];
  t: number;
  price: number;
  /** Market name -> bin -> cents. */
  markets: Map<string, Map<number, [number, number]>>;
}

interface PlainToken {
  /** Names in order of first arrival. */
  markets: string[];
  snapshots: Map<string, PlainSnapshot>;
}

const TIER_ORDER = ['raw', '15m', '1h'];

export class PlainStore {
  readonly tokens = new Map<string, PlainToken>();

  /**
   * Adds a file's rows; amounts are in whole cents.
   * @returns how the snapshots that were there before compare with what the file made of them
   */
  commit(rows: readonly SnapshotRow[], mode: 'replace' | 'merge'): Replaced {
    const before = structuredClone(this.tokens);
    this.take(rows, mode);
    const replaced: Replaced = { snapshots: 0, cellsBefore: 0, cellsAfter: 0 };
    for (const [address, { snapshots }] of before) {
      for (const [place, { markets: had }] of snapshots) {
        const own = rows.filter((row) => row.address === address && placeOf(row) === place);
        if (own.length === 0) continue;
        const has = this.token(address).snapshots.get(place)!.markets;
        const named = own.flatMap(({ markets }) => markets.map(nameOf));
        const cellsIn = (markets: typeof has, name: string) => markets.get(name)?.size ?? 0;
        const compared =
          mode === 'replace'
            ? new Set([...had.keys(), ...has.keys()])
            : new Set(named.filter((name) => cellsIn(had, name) > 0));
        if (mode === 'merge' && compared.size === 0) continue;
        replaced.snapshots++;
        for (const name of compared) {
          replaced.cellsBefore += cellsIn(had, name);
          replaced.cellsAfter += cellsIn(has, name);
        }
      }
    }
    return replaced;
  }

  /** Deletes `from <= t < to`, of all markets or of the named ones. */
  delete(address: string, names: readonly string[] | null, from: number, to: number): Removed {
    const removed: Removed = { snapshots: 0, changedSnapshots: 0, cells: 0 };
    const { snapshots } = this.token(address);
    for (const [place, { t, markets }] of snapshots) {
      if (t < from || t >= to) continue;
      let lost = 0;
      for (const [name, cells] of markets) {
        if (names !== null && !names.includes(name)) continue;
        lost += cells.size;
        markets.delete(name);
      }
      const left = [...markets.values()].reduce((sum, { size }) => sum + size, 0);
      removed.cells += lost;
      if (names === null || (lost > 0 && left === 0)) {
        snapshots.delete(place);
        removed.snapshots++;
      } else if (lost > 0) removed.changedSnapshots++;
    }
    return removed;
  }

  private take(rows: readonly SnapshotRow[], mode: 'replace' | 'merge'): void {
    for (const row of rows) {
      const token = this.token(row.address);
      const place = placeOf(row);
      const existing = token.snapshots.get(place);
      const isMerged = mode === 'merge' && existing !== undefined;
      const snapshot: PlainSnapshot = isMerged
        ? existing
        : { tier: row.tier, t: row.t, price: row.price_usd, markets: new Map() };
      for (const market of row.markets) {
        const name = nameOf(market);
        if (!token.markets.includes(name)) token.markets.push(name);
        const cells = new Map<number, [number, number]>();
        for (const [bin, support, resistance] of market.cells) {
          if (bin < -232 || bin > 242 || support + resistance < 1) continue;
          cells.set(bin, [Math.round(support * 100), Math.round(resistance * 100)]);
        }
        snapshot.markets.set(name, cells);
      }
      token.snapshots.set(place, snapshot);
    }
  }

  /** The price around which cells to be merged into a snapshot must have been binned. */
  existingPrice(row: Pick<SnapshotRow, 'address' | 'tier' | 't'>): number | undefined {
    return this.tokens.get(row.address)?.snapshots.get(placeOf(row))?.price;
  }

  /** What the store must hold of a token, by tier, then time; markets by their index in the list. */
  stored(address: string): StoredSnapshot[] {
    const { markets, snapshots } = this.token(address);
    const list = Array.from(snapshots.values(), ({ tier, t, price, markets: held }) => {
      const cells: number[][] = [];
      for (const [name, byBin] of held) {
        for (const [bin, cents] of byBin) cells.push([markets.indexOf(name), bin, ...cents]);
      }
      return { tier, t, price, cells: cells.sort((a, b) => a[0] - b[0] || a[1] - b[1]) };
    });
    return list.sort(
      (a, b) => TIER_ORDER.indexOf(a.tier) - TIER_ORDER.indexOf(b.tier) || a.t - b.t,
    );
  }

  private token(address: string): PlainToken {
    const token = this.tokens.get(address) ?? { markets: [], snapshots: new Map() };
    this.tokens.set(address, token);
    return token;
  }
}

const placeOf = ({ tier, t }: Pick<SnapshotRow, 'tier' | 't'>): string => `${tier} ${t}`;

/** The identity of a market: its source with its address, or with its pair if it has none. */
export function nameOf(market: { source: string; address?: string | null; pair?: string | null }) {
  return `${market.source} at ${market.address ?? `pair ${market.pair ?? ''}`}`;
}
