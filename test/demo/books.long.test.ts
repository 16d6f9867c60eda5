import { describe, expect, it } from 'vitest';
import { demoSnapshotRow, demoSnapshotTimes, type DemoSnapshotRow } from '../../demo/history.js';
import { DEMO_SEED, demoTokens } from '../../demo/tokens.js';

const UNTIL_S = 1_794_659_696;
const traded = demoTokens(DEMO_SEED).filter((token) => token.markets.length > 0);

/** A few snapshots of every token, distributed over a day. */
const rows = traded.flatMap((token) =>
  demoSnapshotTimes(token, UNTIL_S - 86_400, UNTIL_S, 'raw')
    .filter((_, i) => i % 61 === 0)
    .map((t) => ({ token, row: demoSnapshotRow(token, t, 'raw') })),
);
type Row = DemoSnapshotRow['markets'][number];
const each = <Key extends string>(key: Key) =>
  rows.flatMap(({ token, row }) =>
    row.markets.flatMap((market) =>
      key in market ? [{ token, row, market: market as Extract<Row, Record<Key, unknown>> }] : [],
    ),
  );
const quantile = (sorted: number[], q: number) => sorted[Math.floor(q * (sorted.length - 1))];

describe('demo books', () => {
  const books = each('book');

  it('are ordered, uncrossed and around the price, with spreads of a few basis points', () => {
    expect(books.length).toBeGreaterThan(500);
    const spreads = books.map(({ row, market: { book, source } }) => {
      const where = `${source} ${row.address} ${row.t}`;
      for (const [side, sign] of [
        [book.bids, -1],
        [book.asks, 1],
      ] as const) {
        expect(side.length, where).toBeGreaterThan(5);
        // One assertion per side: one per level took most of the test's time.
        const wrong = side.filter(
          ([price, size], i) =>
            !(price > 0 && size > 0 && Number.isFinite(price * size)) ||
            (i > 0 && !(sign * (price - side[i - 1][0]) > 0)),
        );
        expect(wrong, where).toEqual([]);
      }
      const [bid, ask] = [book.bids[0][0], book.asks[0][0]];
      expect(bid, where).toBeLessThan(ask);
      expect(Math.abs((bid + ask) / 2 / row.price_usd - 1), where).toBeLessThan(0.002);
      return ((ask - bid) / row.price_usd) * 1e4;
    });
    spreads.sort((a, b) => a - b);
    expect(quantile(spreads, 0.5)).toBeGreaterThan(1);
    expect(quantile(spreads, 0.5)).toBeLessThan(15);
    expect(quantile(spreads, 1)).toBeLessThan(100);
    const ofSol = books
      .filter(({ token, market }) => token.index === 0 && market.type === 'cex_spot')
      .map(({ market: { book } }) => (book.asks[0][0] / book.bids[0][0] - 1) * 1e4);
    expect(Math.max(...ofSol)).toBeLessThan(8);
  });

  it('have heavy-tailed sizes that grow with the distance', () => {
    // Each book is compared with its own median, so that large and small tokens count alike.
    const relative = books
      .filter(({ market }) => market.type === 'cex_spot')
      .flatMap(({ market: { book } }) => {
        const usd = [...book.bids, ...book.asks].map(([price, size]) => price * size);
        const median = quantile(
          [...usd].sort((a, b) => a - b),
          0.5,
        );
        return usd.map((x) => x / median);
      })
      .sort((a, b) => a - b);
    expect(quantile(relative, 0.99)).toBeGreaterThan(8);
    expect(quantile(relative, 0.999)).toBeGreaterThan(2.5 * quantile(relative, 0.99));
    const total = relative.reduce((sum, x) => sum + x, 0);
    const top = relative.slice(-Math.ceil(relative.length / 100));
    expect(top.reduce((sum, x) => sum + x, 0) / total).toBeGreaterThan(0.1);

    const median = (low: number, high: number) => {
      const found = books
        .filter(({ token, market }) => token.index === 0 && market.type === 'cex_spot')
        .flatMap(({ row, market: { book } }) =>
          [...book.bids, ...book.asks]
            .filter(([p]) => {
              const distance = Math.abs(Math.log(p / row.price_usd));
              return distance >= low && distance < high;
            })
            .map(([price, size]) => price * size),
        );
      return quantile(
        found.sort((a, b) => a - b),
        0.5,
      );
    };
    expect(median(0.02, 0.06)).toBeGreaterThan(3 * median(0, 0.003));
  });

  it('have walls at round prices that last for hours', () => {
    const token = traded[0];
    const from = UNTIL_S - 86_400;
    const standing = new Map<string, number[]>();
    for (const t of demoSnapshotTimes(token, from, UNTIL_S, 'raw').filter((_, i) => i % 6 === 0)) {
      for (const market of demoSnapshotRow(token, t, 'raw').markets) {
        if (!('book' in market) || market.type !== 'cex_spot') continue;
        const levels = [...market.book.bids, ...market.book.asks];
        const usd = levels.map(([price, size]) => price * size);
        const median = quantile(
          [...usd].sort((a, b) => a - b),
          0.5,
        );
        levels.forEach(([price], i) => {
          if (usd[i] < 12 * median || Number(price.toPrecision(2)) !== price) return;
          const key = `${market.source} ${price}`;
          standing.set(key, [...(standing.get(key) ?? []), t]);
        });
      }
    }
    const longest = Math.max(
      ...[...standing.values()].map((times) => times[times.length - 1] - times[0]),
    );
    expect(standing.size).toBeGreaterThanOrEqual(3);
    expect(longest).toBeGreaterThan(2 * 3_600);
    // They come and go: none lasts all day.
    const counts = [...standing.values()].map((times) => times.length);
    expect(
      quantile(
        counts.sort((a, b) => a - b),
        0.5,
      ),
    ).toBeLessThan(100);
  });
});

describe('demo pools', () => {
  it('of constant product are at the price, within their fee', () => {
    const pools = each('constant_product');
    expect(pools.length).toBeGreaterThan(50);
    for (const { row, market } of pools) {
      const { reserve_token, reserve_quote, quote_usd } = market.constant_product;
      const price = (reserve_quote * quote_usd) / reserve_token;
      expect(Math.abs(price / row.price_usd - 1)).toBeLessThan(0.0026);
    }
    expect(pools.some(({ market }) => market.constant_product.quote_usd !== 1)).toBe(true);
  });

  it('of concentrated liquidity have net liquidity that is never negative and ends at zero', () => {
    const pools = each('clmm');
    expect(pools.length).toBeGreaterThan(200);
    for (const { row, market } of pools) {
      const { ticks, sqrt_price_x96, decimals0, decimals1, token, quote_usd } = market.clmm;
      let liquidity = 0n;
      let active = 0n;
      const raw = (Number(sqrt_price_x96) / 2 ** 96) ** 2;
      const current = Math.floor(Math.log(raw) / Math.log(1.0001));
      let least = 0n;
      for (const [tick, net] of ticks) {
        liquidity += BigInt(net);
        if (liquidity < least) least = liquidity;
        if (tick <= current) active = liquidity;
      }
      expect(ticks.filter(([tick], i) => i > 0 && !(tick > ticks[i - 1][0]))).toEqual([]);
      expect(least).toBe(0n);
      expect(liquidity).toBe(0n);
      expect(active > 0n, `${row.address} ${row.t}`).toBe(true);
      expect(ticks.length).toBeGreaterThan(20);
      expect(ticks.length).toBeLessThan(250);
      const human = raw * 10 ** (decimals0 - decimals1);
      const priceUsd = (token === 0 ? human : 1 / human) * quote_usd;
      expect(Math.abs(priceUsd / row.price_usd - 1)).toBeLessThan(0.0101);
    }
    expect(new Set(pools.map(({ market }) => market.clmm.token))).toEqual(new Set([0, 1]));
  });

  it('of discrete bins have Y below the active bin and X above it', () => {
    const pools = each('dlmm');
    expect(pools.length).toBeGreaterThan(200);
    for (const { row, market } of pools) {
      const { bin_step, active_id, bins, decimals_x, decimals_y, token, quote_usd } = market.dlmm;
      expect(bins.length).toBeGreaterThan(10);
      const wrong = bins.filter(
        ([id, x, y], i) =>
          (i > 0 && !(id > bins[i - 1][0])) ||
          !(x >= 0 && y >= 0 && x + y > 0) ||
          (id < active_id && x !== 0) ||
          (id > active_id && y !== 0),
      );
      expect(wrong).toEqual([]);
      const human = (1 + bin_step / 1e4) ** active_id * 10 ** (decimals_x - decimals_y);
      const priceUsd = (token === 'x' ? human : 1 / human) * quote_usd;
      expect(Math.abs(priceUsd / row.price_usd - 1)).toBeLessThan((1.6 * bin_step) / 1e4);
    }
    expect(new Set(pools.map(({ market }) => market.dlmm.token))).toEqual(new Set(['x', 'y']));
  });
});
