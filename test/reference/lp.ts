/**
 * DLMM and LP numbers computed in a plain way (docs/definitions.md#dlmm-pools): objects, and loops over everything. Shares
 * no code with compute/lp.
 */

const HOUR = 3600;

interface PlainCell {
  /** The market's address. */
  market: string | null;
  /** Whether the market is an on-chain pool. */
  pool: boolean;
  bin: number;
  /** Support + resistance, USD. */
  usd: number;
}

/** A snapshot as replay would serve it. */
export interface PlainSnapshot {
  t: number;
  price: number;
  cells: PlainCell[];
}

export interface PlainPool {
  pubkey: string;
  x: string;
  y: string;
}

export interface PlainPoolHour {
  pubkey: string;
  hour: number;
  fees: number;
  volume: number;
  tvl: number;
}

export interface PlainTokenHour {
  address: string;
  hour: number;
  volume: number;
}

/** 'This hour': the bucket that contains now or, until it has a row, the one before. */
export function plainThisHour(now: number, rows: readonly { hour: number }[]): number {
  const bucket = Math.floor(now / HOUR) * HOUR;
  return rows.some(({ hour }) => hour === bucket) ? bucket : bucket - HOUR;
}

/** Whether a moment is in the N buckets that end with this hour. */
const inPeriod = (time: number, thisHour: number, hours: number) =>
  time >= thisHour - (hours - 1) * HOUR && time < thisHour + HOUR;

/** Relative tolerance at both ends of a price range, as for bands. */
function isWithin(price: number, low: number, high: number): boolean {
  return price >= (low / 1.01 ** 0.5) * (1 - 1e-9) && price <= high * 1.01 ** 0.5 * (1 + 1e-9);
}

/** Mean depth of a market over snapshots in the range of their prices, or null. */
export function plainRangeTvl(snapshots: readonly PlainSnapshot[], market: string): number | null {
  const prices = snapshots.map(({ price }) => price);
  const low = Math.min(...prices);
  const high = Math.max(...prices);
  let sum = 0;
  for (const { price, cells } of snapshots) {
    for (const cell of cells) {
      if (cell.market === market && isWithin(price * 1.01 ** cell.bin, low, high)) sum += cell.usd;
    }
  }
  return sum === 0 ? null : sum / snapshots.length;
}

export interface PlainMarketplace {
  now: number;
  /** Highest first. */
  quotes: string[];
  pools: PlainPool[];
  poolHours: PlainPoolHour[];
  /** By mint. */
  snapshots: Record<string, PlainSnapshot[]>;
}

export interface PlainRow {
  base: string;
  quote: string;
  fees: number;
  volume: number;
  tvl: number;
  effectiveFeeBps: number | null;
  feesPerAvgTvl: number | null;
  captureShare: number | null;
  feeCapture: number | null;
  rangeTvl: number | null;
  rangeYield: number | null;
  rangeCeiling: number | null;
  tokenPoolCount: number;
}

/** The higher one in the list is the quote; if neither is in it, y is. */
function plainSides({ x, y }: PlainPool, quotes: readonly string[]) {
  for (const quote of quotes) {
    if (y === quote) return { base: x, quote: y };
    if (x === quote) return { base: y, quote: x };
  }
  return { base: x, quote: y };
}

const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
const over = (a: number | null, b: number | null) =>
  a === null || b === null || b === 0 ? null : a / b;

/** The board of a period: one row for every pool with an hour in it, by pubkey. */
export function plainBoard(place: PlainMarketplace, hours: number): Map<string, PlainRow> {
  const { now, quotes, pools, poolHours, snapshots } = place;
  const thisHour = plainThisHour(now, poolHours);
  const hoursOf = (pubkey: string) =>
    poolHours.filter((row) => row.pubkey === pubkey && inPeriod(row.hour, thisHour, hours));
  const onBoard = pools.filter(({ pubkey }) => hoursOf(pubkey).length > 0);
  const feesOf = ({ pubkey }: PlainPool) => sum(hoursOf(pubkey).map(({ fees }) => fees));
  const tvlOf = ({ pubkey }: PlainPool) =>
    sum(hoursOf(pubkey).map(({ tvl }) => tvl)) / hoursOf(pubkey).length;
  const rows = onBoard.map((pool): [string, PlainRow] => {
    const { pubkey } = pool;
    const { base, quote } = plainSides(pool, quotes);
    const siblings = onBoard.filter((other) => plainSides(other, quotes).base === base);
    const fees = feesOf(pool);
    const volume = sum(hoursOf(pubkey).map((row) => row.volume));
    const tvl = tvlOf(pool);
    const visible = (snapshots[base] ?? []).filter(({ t }) => t <= now);
    const rangeTvl = plainRangeTvl(
      visible.filter(({ t }) => inPeriod(t, thisHour, hours)),
      pubkey,
    );
    const ceilings: number[] = [];
    for (let hour = thisHour; inPeriod(hour, thisHour, hours); hour -= HOUR) {
      const own = plainRangeTvl(
        visible.filter(({ t }) => inPeriod(t, hour, 1)),
        pubkey,
      );
      const earned = sum(
        hoursOf(pubkey)
          .filter((row) => row.hour === hour)
          .map((row) => row.fees),
      );
      if (own !== null) ceilings.push(earned / own);
    }
    const captureShare = over(fees, sum(siblings.map(feesOf)));
    const row = {
      base,
      quote,
      fees,
      volume,
      tvl,
      effectiveFeeBps: over(10_000 * fees, volume),
      feesPerAvgTvl: over(fees, tvl),
      captureShare,
      feeCapture: over(captureShare, over(tvl, sum(siblings.map(tvlOf)))),
      rangeTvl,
      rangeYield: over(fees, rangeTvl),
      rangeCeiling: ceilings.length === 0 ? null : sum(ceilings),
      tokenPoolCount: pools.filter((other) => plainSides(other, quotes).base === base).length,
    };
    return [pubkey, row];
  });
  return new Map(rows);
}

/** Pubkeys in the board's order: largest first, nulls last, ties by address. */
export function plainOrder(board: ReadonlyMap<string, PlainRow>, key: keyof PlainRow): string[] {
  const left = [...board.keys()];
  const order: string[] = [];
  while (left.length > 0) {
    let best = 0;
    for (let i = 1; i < left.length; i++) {
      const a = board.get(left[i])?.[key] as number | null;
      const b = board.get(left[best])?.[key] as number | null;
      const isTie = a === b;
      const isMore = a !== null && (b === null || a > b);
      if (isMore || (isTie && left[i] < left[best])) best = i;
    }
    order.push(...left.splice(best, 1));
  }
  return order;
}

/** The pubkey that leads each key among a token's pools; none if the greatest value is null or 0. */
export function plainLeaders(
  { pools }: Pick<PlainMarketplace, 'pools'>,
  hourBoard: ReadonlyMap<string, PlainRow>,
  mint: string,
): Record<string, string> {
  const own = pools.filter(
    ({ x, y, pubkey }) => (x === mint || y === mint) && hourBoard.has(pubkey),
  );
  const leaders: Record<string, string> = {};
  for (const key of ['feesPerAvgTvl', 'rangeYield', 'fees'] as const) {
    const board = new Map(own.map(({ pubkey }) => [pubkey, hourBoard.get(pubkey) as PlainRow]));
    const [first] = plainOrder(board, key);
    if (first !== undefined && (board.get(first)?.[key] ?? 0) !== 0) leaders[key] = first;
  }
  return leaders;
}

interface PlainDensityRow {
  address: string;
  organic_volume: number;
  denom_liquidity_usd: number;
  fee_density: number;
}

/** The cheat sheet of a window and denominator, in its order. */
export function plainCheatSheet(
  place: Pick<PlainMarketplace, 'now' | 'snapshots'> & { tokenHours: PlainTokenHour[] },
  hours: number,
  denominator: 'near' | 'bin10' | 'range',
): PlainDensityRow[] {
  const { now, snapshots, tokenHours } = place;
  const thisHour = plainThisHour(now, tokenHours);
  const rows: PlainDensityRow[] = [];
  for (const [address, all] of Object.entries(snapshots)) {
    const visible = all.filter(({ t }) => t <= now).sort((a, b) => a.t - b.t);
    const volumes = tokenHours.filter(
      (row) => row.address === address && inPeriod(row.hour, thisHour, hours),
    );
    const newest = visible.at(-1);
    if (volumes.length === 0 || newest === undefined) continue;
    const travelled = visible.filter(({ t }) => inPeriod(t, thisHour, hours));
    if (denominator === 'range' && travelled.length === 0) continue;
    const prices = travelled.map(({ price }) => price);
    const counts = ({ bin }: PlainCell) => {
      if (denominator === 'near') return Math.abs(bin) <= 25;
      if (denominator === 'bin10') return Math.abs(bin) <= 10;
      return isWithin(newest.price * 1.01 ** bin, Math.min(...prices), Math.max(...prices));
    };
    const liquidity = sum(newest.cells.filter((c) => c.pool && counts(c)).map(({ usd }) => usd));
    if (liquidity < 1000) continue;
    const volume = sum(volumes.map((row) => row.volume));
    rows.push({
      address,
      organic_volume: volume,
      denom_liquidity_usd: liquidity,
      fee_density: volume / liquidity,
    });
  }
  return rows.sort((a, b) => b.fee_density - a.fee_density || (a.address < b.address ? -1 : 1));
}
