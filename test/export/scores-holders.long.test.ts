/** The datasets `scores` and `holders` of an export, against what the API says of the same store. */
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VIEW_OF_REPLAY } from '../../server/cli/export-run.js';
import { exportStore, Seen } from '../../storage/export/export.js';
import { ExportFolder } from '../../storage/export/folder.js';
import type { ExportCounts, ExportRequest } from '../../storage/export/job.js';
import { BUNDLE_VERSION } from '../../storage/bundle.js';
import { plainHolderFlow } from '../reference/holders.js';
import { temporaryDirectory } from '../support/folders.js';
import { type Held, commitHolders, held } from '../support/holders.js';
import {
  commitDelete,
  commitFrames,
  commitRows,
  commitTokens,
  orca,
  snapshot,
} from '../support/stores.js';
import { MarketService, NOW_S } from '../tokens/market-service.js';
import { exportedFiles, inodesOf, rowsOf } from './exports.js';

const mint = (letter: string): string => letter.repeat(43);
const evm = (digit: string): string => `0x${digit.repeat(40)}`;
const [BRIDGED, ALONE, DEPTH_ONLY, LATE, HELD, OTHER_HELD] = ['A', 'B', 'D', 'G', 'H', 'J'].map(
  mint,
);
/** Legs of BRIDGED, DEPTH_ONLY and LATE, and one without a mint. */
const [LEG, LEG_OF_UNSCORED, EARLY_LEG, LONE_LEG] = ['a', 'b', 'c', 'd'].map(evm);
const HOUR_S = 3600;
const DAY_S = 86_400;

type Snap = ReturnType<typeof snapshot>;
const perps = { source: 'Perps', exchange_type: 'CEX', type: 'cex_perp', cells: [[1, 0, 9e6]] };
const snap = (address: string, hoursAgo: number, usd: number, more = {}): Snap =>
  snapshot(
    NOW_S - Math.round(hoursAgo * HOUR_S),
    [
      orca([
        [-1, usd, 0],
        [2, 0, 2 * usd],
        [60, 0, 5 * usd],
      ]),
      perps as never,
    ],
    { address, ...more },
  );

/** Legs apart, together, and more than a day apart, over a few days and tiers. */
const SNAPSHOTS: Snap[] = [
  ...[90, 61, 60, 40, 39.5, 20, 3, 2.5].map((h, i) => snap(BRIDGED, h, 4000 + 1100 * i)),
  snap(BRIDGED, 100, 77, { tier: '1h' }),
  snap(BRIDGED, 62, 5e6, { tier: '15m' }),
  ...[88, 64.5, 64, 35, 10, 9, 2.5, 1].map((h, i) => snap(LEG, h, 30_000 * (i + 1))),
  ...[80, 50, 1].map((h) => snap(ALONE, h, 900 * h)),
  ...[70, 20].map((h) => snap(DEPTH_ONLY, h, 10_000)),
  ...[69, 21].map((h) => snap(LEG_OF_UNSCORED, h, 10_000)),
  ...[30, 5].map((h) => snap(LATE, h, 10_000)),
  ...[90, 48, 31, 29, 4].map((h) => snap(EARLY_LEG, h, 20_000)),
  ...[33, 7].map((h) => snap(LONE_LEG, h, 50_000)),
];

/** Balances of a mint every seven hours, and often within the last day. */
function holderHistory(seed: number): Map<number, Held> {
  const history = new Map<number, Held>();
  for (let t = NOW_S - 40 * DAY_S; t <= NOW_S; t += t < NOW_S - DAY_S ? 7 * HOUR_S : 1800) {
    const at = Math.floor(t / 1800);
    history.set(t, held(60 + ((at * seed) % 50), at % 11, at % 5));
  }
  return history;
}

let service: MarketService;
beforeAll(async () => {
  service = await MarketService.start();
  await service.turnTo(NOW_S);
  await commitTokens(service.store, [
    { address: BRIDGED, asset: 'one', symbol: 'ONE' },
    { chain: 'evmchain', address: LEG, asset: 'one' },
    { address: ALONE, price_usd: 9 },
    { address: DEPTH_ONLY, asset: 'two', coverage: 'depth_only' },
    { chain: 'evmchain', address: LEG_OF_UNSCORED, asset: 'two' },
    { address: LATE, asset: 'three', price_usd: null },
    { chain: 'evmchain', address: EARLY_LEG, asset: 'three' },
  ]);
  await commitRows(service.store, SNAPSHOTS);
  await commitHolders(service.store, [
    [HELD, holderHistory(7)],
    [OTHER_HELD, new Map([[NOW_S + 50, held(3, 1)]])],
  ]);
  await service.settled();
});
afterAll(() => service.stop());

async function exportTo(
  out: string,
  request: Partial<ExportRequest> = {},
  seen?: Seen,
): Promise<ExportCounts> {
  const { view = VIEW_OF_REPLAY } = request;
  const folder = await ExportFolder.open(out, view);
  const whole = { fromS: 0, toS: NOW_S + 1, nowS: NOW_S, tier: null, tokens: null };
  const datasets = ['scores', 'holders'] as const;
  return exportStore({ ...whole, datasets, ...request, folder, view }, service.store, seen).finally(
    () => folder.close(),
  );
}
const newFolder = (): string => path.join(temporaryDirectory(), 'export');

/** What GET /score?at= says at the time of each snapshot that pages show; none without a score. */
async function scoresOfApi(addresses: readonly string[]): Promise<unknown[][]> {
  const expected: unknown[][] = [];
  for (const address of [...addresses].sort()) {
    const shown = await service.get(
      `/replay/${address}?from=${NOW_S - 10 * DAY_S}&to=${NOW_S + 1}`,
    );
    for (const { t, tier, price_usd } of shown.body.snapshots) {
      const { body } = await service.get(`/score/${address}?chain=all&at=${t}&explain=true`);
      if (body.service_score === null) continue;
      const { support, resistance, depth } = body.explain;
      expected.push([address, t, tier, price_usd, body.service_score, support, resistance, depth]);
    }
  }
  return expected;
}
const SCORES = 'address, t, tier, price_usd, service_score, support_usd, resistance_usd, depth_usd';
const exportedScores = (out: string) =>
  rowsOf(out, 'scores', SCORES, undefined, 'ORDER BY address, t');

/** Tokens whose own snapshots /replay shows: it shows those of a mint under the address of its leg. */
const OWN = [BRIDGED, ALONE, DEPTH_ONLY, LATE, LONE_LEG];

describe('scores', () => {
  it('are what GET /score?at= says at the time of each snapshot', async () => {
    const out = newFolder();
    await exportTo(out);
    const found = await exportedScores(out);
    const expected = await scoresOfApi(OWN);
    expect(expected.length).toBeGreaterThan(15);
    expect(found.filter(([address]) => OWN.includes(address as string))).toEqual(expected);
    // A leg's own snapshots: the score of its mint, once that has a price.
    for (const [leg, own] of [
      [LEG, 8],
      [LEG_OF_UNSCORED, 0],
      [EARLY_LEG, 2],
    ] as const) {
      const ofLeg = found.filter(([address]) => address === leg);
      expect([leg, ofLeg.length]).toEqual([leg, own]);
      for (const [, t, , , score, support] of ofLeg) {
        const { body } = await service.get(
          `/score/${leg}?chain=all&at=${t as number}&explain=true`,
        );
        expect([t, score, support]).toEqual([t, body.service_score, body.explain.support]);
      }
    }
    const times = await rowsOf(out, 'scores', `bool_and(epoch_ms(timestamp) = t * 1000)`);
    expect(times).toEqual([[true]]);
  });

  it('change with the other leg, with coverage and with prices, and only where they must', async () => {
    const out = newFolder();
    const seen = new Seen();
    await exportTo(out, {}, seen);
    const changes: [what: string, change: () => Promise<unknown>, isLocal: boolean][] = [
      ['a late snapshot of the leg', () => commitRows(service.store, [snap(LEG, 61.5, 9e6)]), true],
      [
        'a deleted one',
        () =>
          commitDelete(service.store, {
            address: LEG,
            chain: 'evmchain',
            fromS: NOW_S - 10.1 * HOUR_S,
            toS: NOW_S - 9.9 * HOUR_S,
          }),
        true,
      ],
      [
        'an older first one of a mint without a price',
        () => commitRows(service.store, [snap(LATE, 95, 10_000)]),
        true,
      ],
      [
        'it is deleted',
        () =>
          commitDelete(service.store, {
            address: LATE,
            fromS: NOW_S - 96 * HOUR_S,
            toS: NOW_S - 94 * HOUR_S,
          }),
        true,
      ],
      ['a new one of the mint', () => commitRows(service.store, [snap(BRIDGED, 0.5, 100)]), true],
      [
        'a price',
        () => commitTokens(service.store, [{ address: LATE, asset: 'three', price_usd: 3 }]),
        false,
      ],
      [
        'coverage',
        () =>
          commitTokens(service.store, [
            { chain: 'evmchain', address: LEG, asset: 'one', coverage: 'depth_only' },
          ]),
        false,
      ],
      [
        'an asset',
        () => commitTokens(service.store, [{ chain: 'evmchain', address: LEG, asset: null }]),
        false,
      ],
    ];
    for (const [what, change, isLocal] of changes) {
      const before = inodesOf(out);
      await change();
      await service.settled();
      const counts = await exportTo(out, {}, seen);
      expect([what, counts.written + counts.removed > 0]).toEqual([what, true]);
      expect([what, await exportedScores(out)]).toEqual([what, await fresh()]);
      const same = [...inodesOf(out)].filter(([file, inode]) => before.get(file) === inode);
      if (isLocal) expect([what, same.length > before.size / 2]).toEqual([what, true]);
    }
    const own = (await exportedScores(out)).filter(([address]) => OWN.includes(address as string));
    expect(own).toEqual(await scoresOfApi(OWN));
    expect(await exportTo(out)).toMatchObject({ written: 0, removed: 0 });
  });

  const fresh = async () => {
    const out = newFolder();
    await exportTo(out);
    return exportedScores(out);
  };

  it('are of one tier and of the newest snapshot of each step, as the other datasets of depth', async () => {
    for (const request of [
      { tier: '15m' },
      { view: { ...VIEW_OF_REPLAY, step_s: DAY_S } },
    ] as Partial<ExportRequest>[]) {
      const out = newFolder();
      await exportTo(out, { ...request, datasets: ['scores', 'snapshots'] });
      const shown = await rowsOf(out, 'snapshots', 't, tier', BRIDGED, 'ORDER BY t');
      expect(shown.length).toBeGreaterThan(0);
      expect(await rowsOf(out, 'scores', 't, tier', BRIDGED, 'ORDER BY t')).toEqual(shown);
      const all = (await fresh()).map((row) => JSON.stringify(row));
      for (const row of await exportedScores(out)) expect(all).toContain(JSON.stringify(row));
    }
  });
});

describe('holders', () => {
  const deleteHolders = (address: string, fromS: number, toS: number) =>
    commitFrames(service.store, [
      { kind: 'header', version: BUNDLE_VERSION, file: 'delete', mode: 'replace' },
      { kind: 'delete-holders', chain: 'mainchain', address, fromS, toS },
    ]);
  const holders = (out: string) =>
    rowsOf(out, 'holders', 'token_address, t, owner, balance', undefined, 'ORDER BY ALL');

  it('are what GET /whale-activity rests on', async () => {
    const out = newFolder();
    await exportTo(out);
    const found = await holders(out);
    const rows = found.map(([, t, owner, balance]) => {
      return { t: t as number, owner: owner as string, balance: balance as number };
    });
    // The only snapshot of the other mint is in the future.
    expect(new Set(found.map(([token]) => token))).toEqual(new Set([HELD]));
    const flow = plainHolderFlow(rows, NOW_S);
    const { body } = await service.get(
      `/whale-activity?token_address=${HELD}&wallet_activity=true&wallet_limit=100`,
    );
    expect(body.wallets.length).toBeGreaterThan(50);
    expect(body).toMatchObject({
      summary: flow?.summary,
      sparkline: flow?.sparkline,
      wallets: flow?.wallets,
    });
    // In full, as far back as they are kept.
    for (const [t, owners] of holderHistory(7)) {
      const own = rows.filter((row) => row.t === t);
      if (t < NOW_S - 9 * DAY_S && own.length === 0) continue;
      expect([t, own.length]).toEqual([t, owners.size]);
      expect(new Map(own.map(({ owner, balance }) => [owner, balance]))).toEqual(new Map(owners));
    }
    const folders = `bool_and(chain = 'mainchain' AND date = timestamp::DATE AND epoch_ms(timestamp) = t * 1000)`;
    expect(await rowsOf(out, 'holders', folders)).toEqual([[true]]);
  });

  it('are written again where they have changed, and removed where they are gone', async () => {
    const out = newFolder();
    const seen = new Seen();
    const first = await exportTo(out, { datasets: ['holders'] }, seen);
    expect(first.written).toBeGreaterThan(30);
    const before = inodesOf(out);
    expect(await exportTo(out, { datasets: ['holders'] })).toMatchObject({
      written: 0,
      removed: 0,
      unchanged: first.written,
    });
    expect(inodesOf(out)).toEqual(before);
    // The same times, other balances, of new owners too: they change no older file.
    const newest = new Map([[NOW_S, new Map([...held(80, 3, 70)].map(([id, n]) => [id, n * 2]))]]);
    await commitHolders(service.store, [[HELD, newest]]);
    const second = await exportTo(out, { datasets: ['holders'] }, seen);
    expect([second.written, second.removed]).toEqual([expect.any(Number), 0]);
    expect(second.written).toBeGreaterThan(0);
    expect(second.written).toBeLessThan(5);
    const now = (await holders(out)).filter(([, t]) => t === NOW_S);
    expect(new Map(now.map(([, , owner, n]) => [owner, n]))).toEqual(newest.get(NOW_S));
    // The snapshot of the future, once it is there.
    await exportTo(out, { datasets: ['holders'], nowS: NOW_S + 60, toS: NOW_S + 61 }, seen);
    expect(await rowsOf(out, 'holders', 'DISTINCT token_address', undefined, 'ORDER BY 1')).toEqual(
      [[HELD], [OTHER_HELD]],
    );
    // Of one token, and of none.
    const own = newFolder();
    await exportTo(own, {
      datasets: ['holders'],
      tokens: [{ chain: 'evmchain', address: LONE_LEG }],
    });
    expect(exportedFiles(own).sort()).toEqual(['_fathom.json', 'tokens/tokens.parquet']);
    const midnight = NOW_S - (NOW_S % DAY_S);
    await deleteHolders(HELD, midnight - DAY_S, midnight);
    await deleteHolders(OTHER_HELD, 0, 2 ** 32);
    await exportTo(out, { datasets: ['holders'], nowS: NOW_S + 60, toS: NOW_S + 61 }, seen);
    const left = await rowsOf(
      out,
      'holders',
      `DISTINCT token_address, t >= ${midnight - DAY_S} AND t < ${midnight}`,
    );
    expect(left).toEqual([[HELD, false]]);
    expect(await exportTo(out, { datasets: ['holders'] })).toMatchObject({
      written: 0,
      removed: 0,
    });
  });

  it('are written again under other owners with the same balances', async () => {
    const out = newFolder();
    const seen = new Seen();
    const mintOf = mint('K');
    const load = (from: number, more: [number, number][] = []) =>
      commitHolders(service.store, [
        [
          mintOf,
          new Map([
            [NOW_S - 2 * DAY_S, held(5, 1, from)],
            ...more.map(([t, first]): [number, Held] => [t, held(9, 2, first)]),
          ]),
        ],
      ]);
    const again = (known?: Seen) => exportTo(out, { datasets: ['holders'] }, known);
    const owners = async () => {
      const sql = `WHERE token_address = '${mintOf}' AND t = ${NOW_S - 2 * DAY_S} ORDER BY owner`;
      return (await rowsOf(out, 'holders', 'owner', undefined, sql)).flat();
    };
    await load(0);
    await again(seen);
    for (const [from, known] of [
      [100, seen],
      [200, undefined],
    ] as const) {
      await deleteHolders(mintOf, 0, 2 ** 32);
      await load(from);
      expect((await again(known)).written).toBe(1);
      expect(await owners()).toEqual([...held(5, 1, from).keys()].sort());
    }
    await load(200, [[NOW_S - HOUR_S, 300]]);
    expect((await again()).written).toBeGreaterThan(0);
    expect((await again()).written).toBe(0);
    await deleteHolders(mintOf, 0, 2 ** 32);
  });

  it('are the newest of each step', async () => {
    const out = newFolder();
    const step = 6 * HOUR_S;
    const ofHeld = `WHERE token_address = '${HELD}' ORDER BY t`;
    await exportTo(out, { view: { ...VIEW_OF_REPLAY, step_s: step } });
    const whole = newFolder();
    await exportTo(whole);
    const all = (await rowsOf(whole, 'holders', 'DISTINCT t', undefined, ofHeld)).flat();
    const newest = new Map(all.map((t) => [Math.ceil((t as number) / step), t]));
    const found = (await rowsOf(out, 'holders', 'DISTINCT t', undefined, ofHeld)).flat();
    expect(found).toEqual([...newest.values()]);
    expect(found.length).toBeLessThan(all.length);
  });
});
