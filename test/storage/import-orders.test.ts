/** Jupiter's DCA and limit orders, in the shapes that its API returns. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ImportFormat } from '../../storage/import/formats.js';
import { importIntoStore } from '../../storage/import/import.js';
import { openStoreOf } from '../support/ingest.js';
import { sharedPool } from '../support/pool.js';
import { DataDirectory, openStore } from '../support/stores.js';
import {
  fixture,
  importAll,
  optionsOf,
  type Parsed,
  Scratch,
  SOL,
  TOKEN,
} from './import-helpers.js';

const scratch = new Scratch();

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const MINT = 'A'.repeat(44);
const OTHER_MINT = 'B'.repeat(44);
const WALLET = 'W'.repeat(44);
const CREATED = '2025-03-11T02:51:53Z';
const CREATED_S = Date.parse(CREATED) / 1000;

type Format = 'jupiter-dca' | 'jupiter-limit-orders';
type Flags = Record<string, string | string[]>;
const runText = (format: Format, text: string, flags: Flags = {}) =>
  importAll<Record<string, Parsed>>(format, [scratch.file('orders.json', text)], flags);
const run = (format: Format, document: unknown, flags: Flags = {}) =>
  runText(format, JSON.stringify(document), flags);

const DCA = {
  orderKey: 'dca-1',
  inputMint: USDC,
  outputMint: SOL,
  inDeposited: '104',
  inWithdrawn: '0',
  inUsed: '52',
  inAmountPerCycle: '26',
  cycleFrequency: '86400',
  minOutAmount: '0',
  maxOutAmount: '0',
  closeTx: '',
  userClosed: false,
  createdAt: CREATED,
  unknown: { nested: [1] },
};
const LIMIT = {
  orderKey: 'limit-1',
  userPubkey: WALLET,
  inputMint: SOL,
  outputMint: USDC,
  makingAmount: '10',
  takingAmount: '2000',
  remainingMakingAmount: '4',
  createdAt: CREATED,
  status: 'Open',
  closeTx: '',
};

describe('jupiter-dca', () => {
  it('gives rows of dca_orders', async () => {
    const { rows, report } = await run('jupiter-dca', { time: { orders: [DCA] } });
    expect(rows).toEqual([
      {
        dca_address: 'dca-1',
        token_address: SOL,
        direction: 'BUY',
        paired_symbol: 'USDC',
        deposited_usd: 104,
        remaining_usd: 52,
        cycle_usd: 26,
        cycle_frequency: 86_400,
        next_cycle_at: CREATED_S + 2 * 86_400,
        min_usd: null,
        max_usd: null,
        closed: false,
      },
    ]);
    expect(report.messages).toBe(1);
  });

  it('reads the same orders from every kind of document', async () => {
    const second = { ...DCA, orderKey: 'dca-2' };
    const { rows } = await run('jupiter-dca', [DCA, second]);
    for (const document of [
      { orders: [DCA, second] },
      { all: [DCA, second] },
      { time: [DCA, second] },
      { user: WALLET, data: { time: { orders: [DCA, second], totalPages: 1 } } },
    ]) {
      expect((await run('jupiter-dca', document)).rows).toEqual(rows);
    }
    const lines = [DCA, second].map((order) => JSON.stringify(order));
    expect((await runText('jupiter-dca', `\uFEFF${lines.join('\r\n')}\n\n`)).rows).toEqual(rows);
    const pages = [DCA, second].map((order) => JSON.stringify({ all: [order] }));
    expect((await runText('jupiter-dca', pages.join('\n'))).rows).toEqual(rows);
    const pretty = JSON.stringify([DCA, second], null, 2);
    expect((await runText('jupiter-dca', pretty)).rows).toEqual(rows);
  });

  it('turns bounds per cycle into price bounds', async () => {
    const bounds = { minOutAmount: '0.1', maxOutAmount: '0.2' };
    const [buy] = (await run('jupiter-dca', { all: [{ ...DCA, ...bounds }] })).rows;
    expect([buy.min_usd, buy.max_usd]).toEqual([130, 260]);
    const sell = { ...DCA, inputMint: SOL, outputMint: USDC, minOutAmount: '2600' };
    const { rows } = await run('jupiter-dca', [sell], { 'quote-usd': `${SOL}=150` });
    expect(rows[0]).toMatchObject({
      token_address: SOL,
      direction: 'SELL',
      paired_symbol: 'USDC',
      deposited_usd: 15_600,
      remaining_usd: 7800,
      cycle_usd: 3900,
      min_usd: 100,
      max_usd: null,
    });
  });

  it('leaves out what has no price, naming the flag that would give it', async () => {
    const byValue = { ...DCA, orderInterval: '300', cycleFrequency: undefined };
    const sell = { ...DCA, inputMint: MINT, outputMint: USDC };
    const { rows, report } = await run('jupiter-dca', [sell, DCA, byValue]);
    expect(rows.length).toBe(1);
    expect(report.leftOut.first.map(({ reason }) => reason)).toEqual([
      `no USD price of ${MINT}: --quote-usd ${MINT}=N`,
      'an order by value (orderInterval) has no fixed amount for each cycle',
    ]);
  });

  it('recognizes closed orders', async () => {
    const closed = [{ userClosed: true }, { closeTx: 'signature' }, { closeTx: null }];
    const { rows } = await run(
      'jupiter-dca',
      closed.map((fields) => ({ ...DCA, ...fields })),
    );
    expect(rows.map((row) => row.closed)).toEqual([true, true, false]);
  });

  it('reads the real reply', async () => {
    const { rows, report } = await importAll<Record<string, Parsed>>('jupiter-dca', [
      fixture('jupiter_recurring_excerpt.json'),
    ]);
    expect(rows).toMatchObject([
      { dca_address: '8icop2U4E6R9hJYtSS9fnfiiRrD3BjCY5jir22NfWcrn', remaining_usd: 52 },
    ]);
    expect([report.messages, report.leftOut.count]).toEqual([4, 3]);
  });
});

describe('jupiter-limit-orders', () => {
  it('gives rows of limit_orders', async () => {
    const { rows } = await run('jupiter-limit-orders', { orders: [LIMIT] });
    expect(rows).toEqual([
      {
        order_address: 'limit-1',
        chain: 'mainchain',
        token_address: SOL,
        direction: 'SELL',
        platform: 'jupiter',
        paired_symbol: 'USDC',
        maker: WALLET,
        usd_price: 200,
        remaining_usd: 800,
        pct_complete: 0.6,
        created_at: CREATED_S,
        closed: false,
      },
    ]);
  });

  it('finds the token: the side that is not a quote token, the side of --token, else the input', async () => {
    const sides = async (inputMint: string, outputMint: string, flags: Flags = {}) => {
      const quoteUsd = [SOL, MINT, OTHER_MINT].map((mint) => `${mint}=100`);
      const { rows } = await run(
        'jupiter-limit-orders',
        { ...LIMIT, inputMint, outputMint },
        { ...flags, 'quote-usd': quoteUsd },
      );
      return rows.map((row) => [row.token_address, row.direction, row.paired_symbol]);
    };
    expect(await sides(USDC, MINT)).toEqual([[MINT, 'BUY', 'USDC']]);
    expect(await sides(MINT, SOL)).toEqual([[MINT, 'SELL', 'SOL']]);
    expect(await sides(USDC, SOL)).toEqual([[SOL, 'BUY', 'USDC']]);
    expect(await sides(MINT, OTHER_MINT)).toEqual([[MINT, 'SELL', OTHER_MINT]]);
    expect(await sides(MINT, SOL, TOKEN)).toEqual([[SOL, 'BUY', MINT]]);
    expect(await sides(MINT, USDC, TOKEN)).toEqual([]);
  });

  it('reads the accounts of the earlier API, with the decimals that flags give', async () => {
    const account = {
      maker: WALLET,
      inputMint: MINT,
      outputMint: USDC,
      createdAt: '1741661513',
      oriMakingAmount: '1000000',
      oriTakingAmount: '20000000',
      makingAmount: '250000',
    };
    const document = [{ publicKey: 'limit-2', account }];
    const without = await run('jupiter-limit-orders', document);
    expect(without.nothing).toBe(
      'nothing to import: all 1 orders that hold the token were left out',
    );
    expect(without.report.leftOut.first[0].reason).toBe(
      `no decimals of ${MINT}: --decimals ${MINT}=N`,
    );
    const { rows } = await run('jupiter-limit-orders', document, { decimals: `${MINT}=5` });
    expect(rows[0]).toMatchObject({
      order_address: 'limit-2',
      maker: WALLET,
      usd_price: 2,
      remaining_usd: 5,
      pct_complete: 0.75,
      created_at: CREATED_S,
      closed: false,
    });
  });

  it('reads the real reply, taking what is not open as closed', async () => {
    const file = fixture('jupiter_trigger_excerpt.json');
    const orders = JSON.parse(readFileSync(file, 'utf8')).orders as Parsed[];
    const flags = { 'quote-usd': `${SOL}=150` };
    const { rows, report } = await importAll<Record<string, Parsed>>(
      'jupiter-limit-orders',
      [file],
      flags,
    );
    expect(rows.length + report.leftOut.count).toBe(orders.length);
    const open = orders.filter(({ status }) => status === 'Open').map(({ orderKey }) => orderKey);
    expect(rows.filter((row) => !row.closed).map((row) => row.order_address)).toEqual(open);
    expect(open.length).toBeGreaterThan(0);
  });
});

describe('files of orders', () => {
  it('that are empty or damaged say so', async () => {
    for (const text of ['', ' \n', '[]', '{"orders":[]}']) {
      expect((await runText('jupiter-dca', text)).nothing).toBe(
        'nothing to import: no orders in the files',
      );
    }
    const text = JSON.stringify({ orders: [LIMIT] });
    await expect(runText('jupiter-limit-orders', text.slice(0, -9))).rejects.toThrow(
      'orders.json: expected a JSON document, or one on each line: it is cut off or damaged',
    );
    const lines = `${JSON.stringify(LIMIT)}\n{"orderKey":\n`;
    await expect(runText('jupiter-limit-orders', lines)).rejects.toThrow(
      `orders.json:2: the line: expected a whole JSON document, found '{"orderKey":'`,
    );
    await expect(runText('jupiter-dca', 'orderKey,inputMint\n')).rejects.toThrow(
      "orders.json: expected a JSON document, or one on each line, found 'orderKey,inputMint'",
    );
    await expect(run('jupiter-dca', [LIMIT])).rejects.toThrow(
      'orders.json[0]: makingAmount: this is a limit order: import it as jupiter-limit-orders',
    );
    await expect(run('jupiter-limit-orders', [DCA])).rejects.toThrow(
      'orders.json[0]: inDeposited: this is a recurring order: import it as jupiter-dca',
    );
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    await expect(runText('jupiter-dca', deep)).rejects.toThrow('lists are nested too deep');
    await expect(run('jupiter-dca', { error: 'rate limited' })).rejects.toThrow(
      'orders.json: expected an order (orderKey or publicKey), a list of orders, or an object with data, orders, all, time, price',
    );
  });

  it.each([
    ['jupiter-dca', { ...DCA, minOutAmount: '3' }, { userClosed: true }],
    ['jupiter-limit-orders', LIMIT, { status: 'Cancelled' }],
  ] as [Format, object, object][])(
    'of %s delete closed orders whatever the price',
    async (format, order, ended) => {
      const unpriced = { ...order, inputMint: MINT, outputMint: OTHER_MINT };
      const { rows, report } = await run(format, [{ ...unpriced, ...ended }, unpriced]);
      expect(rows.map(({ closed }) => closed)).toEqual([true]);
      expect(report.leftOut.count).toBe(1);
    },
  );

  it('that do not have the token say so', async () => {
    const flags = { token: `mainchain:${MINT}` };
    expect((await run('jupiter-dca', [DCA], flags)).nothing).toBe(
      'nothing to import: none of 1 orders holds the token',
    );
  });

  it.each([
    ['jupiter-dca', { ...DCA, inUsed: 'x' }, ':[0]: inUsed: expected a number of at least 0'],
    ['jupiter-dca', { ...DCA, cycleFrequency: '0' }, 'cycleFrequency: expected seconds above 0'],
    ['jupiter-dca', { ...DCA, inAmountPerCycle: 0 }, 'inAmountPerCycle: expected a number above 0'],
    ['jupiter-dca', { ...DCA, createdAt: 'yesterday' }, 'createdAt: must be a time'],
    ['jupiter-dca', { ...DCA, outputMint: '0x1' }, 'outputMint: expected a base58 address'],
    ['jupiter-limit-orders', { ...LIMIT, userPubkey: 1 }, 'userPubkey: expected a text'],
    ['jupiter-limit-orders', { ...LIMIT, takingAmount: '0' }, 'takingAmount: expected a number'],
    [
      'jupiter-limit-orders',
      { ...LIMIT, remainingMakingAmount: '11' },
      'remainingMakingAmount: expected at most makingAmount',
    ],
  ] as [Format, object, string][])(
    'of %s name the faulty field: %#',
    async (format, order, what) => {
      await expect(run(format, [order])).rejects.toThrow(what.replace(':[0]', '[0]'));
    },
  );
});

it('orders and holders enter a store, and closed orders leave it', async () => {
  const directory = new DataDirectory();
  const store = await openStore(directory.path);
  try {
    const intoStore = async (format: ImportFormat, text: string, flags: Flags) =>
      (
        await importIntoStore({
          directory: directory.path,
          format,
          options: optionsOf(format, flags),
          files: [scratch.file('input', text)],
          pool: await sharedPool(2),
          useStore: openStoreOf(store),
        })
      ).stored.rows;
    const limit = { ...LIMIT, orderKey: 'limit-2' };
    expect(await intoStore('jupiter-dca', JSON.stringify([DCA]), {})).toBe(1);
    expect(await intoStore('jupiter-limit-orders', JSON.stringify([LIMIT, limit]), {})).toBe(2);
    const closed = JSON.stringify({ ...limit, status: 'Cancelled' });
    expect(await intoStore('jupiter-limit-orders', closed, {})).toBe(1);
    const holders = `Account,Token Account,Quantity\n${MINT},${OTHER_MINT},"1,000"\n`;
    const at = String(CREATED_S);
    expect(await intoStore('solscan-holders', holders, { ...TOKEN, at })).toBe(1);
    expect(await store.orders.dca.of([SOL])).toMatchObject([{ dcaAddress: 'dca-1' }]);
    expect(await store.orders.limit.of([SOL])).toMatchObject([
      { orderAddress: 'limit-1', usdPrice: 200, remainingUsd: 800 },
    ]);
    expect([...(await store.holders.times(SOL))]).toEqual([CREATED_S]);
  } finally {
    await store.close();
  }
});
