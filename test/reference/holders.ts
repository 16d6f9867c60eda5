/** Holder flow by docs/definitions.md#holder-flow, plain and slow: rows in, the API's document out. */

export interface HolderRow {
  /** Epoch seconds. */
  t: number;
  owner: string;
  balance: number;
}

const DAY = 86_400;
const TIERS: [string, number][] = [
  ['top20', 20],
  ['top50', 50],
  ['top100', 100],
];
const WINDOWS: Record<string, number> = { '1d': 1, '7d': 7, '14d': 14, '30d': 30 };

type Balances = Map<string, number>;

interface Sums {
  accumulating: number;
  new_wallets: number;
  net: number;
  inflow: number;
  outflow: number;
}

/** The sections of GET /whale-activity with wallet_activity, and the newest snapshot's time. */
export function plainHolderFlow(rows: readonly HolderRow[], nowS: number) {
  const snapshots = new Map<number, Balances>();
  for (const { t, owner, balance } of rows) {
    if (t > nowS) continue;
    if (!snapshots.has(t)) snapshots.set(t, new Map());
    snapshots.get(t)?.set(owner, balance);
  }
  const times = [...snapshots.keys()].sort((a, b) => b - a);
  if (times.length === 0) return null;
  const [newestT] = times;
  const at = (t: number | undefined): Balances | null =>
    t === undefined ? null : (snapshots.get(t) ?? null);
  const newest = snapshots.get(newestT) as Balances;
  const baseOf = (window: string) =>
    at(times.find((t) => t <= newestT - WINDOWS[window] * DAY)) ?? null;

  const lastDay = Math.floor(newestT / DAY);
  const days = Array.from({ length: 30 }, (_, i) => lastDay - 29 + i).map((day) => ({
    day: new Date(day * DAY * 1000).toISOString().slice(0, 10),
    last: at(times.find((t) => Math.floor(t / DAY) === day)),
    earlier: at(times.find((t) => Math.floor(t / DAY) < day)),
  }));

  const table = (field: (sums: Sums) => unknown) =>
    Object.fromEntries(
      TIERS.map(([tier, size]) => [
        tier,
        Object.fromEntries(
          ['1d', '7d', '30d'].map((window) => [
            window,
            field(sumsOf(newest, baseOf(window), size)),
          ]),
        ),
      ]),
    );
  return {
    newestT,
    summary: {
      accumulating: table(({ accumulating }) => accumulating),
      new_wallets: table(({ new_wallets }) => new_wallets),
      net_flow: table(({ net, inflow, outflow }) => ({ net, inflow, outflow })),
    },
    sparkline: Object.fromEntries(
      TIERS.map(([tier, size]) => [
        tier,
        days.map(({ day, last, earlier }) => ({ day, ...sumsOf(last, earlier, size) })),
      ]),
    ),
    wallets: ranked(newest)
      .slice(0, 100)
      .map(([owner, balance], index) => ({
        rank: index + 1,
        owner,
        balance,
        balance_change: Object.fromEntries(
          Object.keys(WINDOWS).map((window) => [window, change(balance, baseOf(window), owner)]),
        ),
        activity: days.map(({ day, last, earlier }) => ({
          day,
          balance: last === null ? null : (last.get(owner) ?? 0),
          change:
            last === null || earlier === null
              ? 0
              : (last.get(owner) ?? 0) - (earlier.get(owner) ?? 0),
        })),
      })),
  };
}

function ranked(balances: Balances): [string, number][] {
  return [...balances].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
}

function change(balance: number, base: Balances | null, owner: string) {
  if (base === null) return { tokens: 0, pct: null };
  const before = base.get(owner) ?? 0;
  return {
    tokens: balance - before,
    pct: before === 0 ? null : (balance - before) / before,
  };
}

function sumsOf(now: Balances | null, base: Balances | null, size: number): Sums {
  const sums = { accumulating: 0, new_wallets: 0, net: 0, inflow: 0, outflow: 0 };
  if (now === null || base === null) return sums;
  for (const [owner, balance] of ranked(now).slice(0, size)) {
    const before = base.get(owner) ?? 0;
    if (before > 0 && balance > before) sums.accumulating++;
    if (before === 0) sums.new_wallets++;
    sums.inflow += Math.max(balance - before, 0);
    sums.outflow += Math.min(balance - before, 0);
  }
  return { ...sums, net: sums.inflow + sums.outflow };
}
