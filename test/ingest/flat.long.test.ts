/** Orders, pools and hours: from files of every format, and their faults. */
import { describe, expect, it } from 'vitest';
import { FLAT_DATASETS, type FlatDataset } from '../../storage/contract.js';
import { PlainFlatStore } from '../reference/flat-store.js';
import { withStoreOf } from '../support/cli.js';
import { dcaRow, FLAT_ROWS, flatContents, HOUR } from '../support/flat.js';
import {
  csv,
  ingest,
  lines,
  MINT,
  missingColumnFault,
  readJson,
  Scratch,
} from '../support/ingest.js';
import type { Json } from '../support/tables.js';

const EVM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const OTHER_MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

const scratch = Scratch.held();
const file = scratch.file.bind(scratch);

/** Rows with every value that a format might change, and one that closes an order. */
const ROWS: Record<FlatDataset, Json[]> = {
  dca_orders: [
    dcaRow(),
    dcaRow({ dca_address: 'b', min_usd: 0, max_usd: null, token_address: OTHER_MINT }),
    dcaRow({ dca_address: 'c', closed: true }),
    dcaRow({ dca_address: 'd', remaining_usd: 0, closed: null }),
    dcaRow({ dca_address: 'e', closed: null, direction: 'SELL', remaining_usd: 1e-9 }),
  ],
  limit_orders: [
    FLAT_ROWS.limit_orders(),
    FLAT_ROWS.limit_orders({ order_address: 'Ω', chain: 'mainchain', token_address: MINT }),
    FLAT_ROWS.limit_orders({ order_address: 'x', closed: true }),
  ],
  dlmm_pools: [FLAT_ROWS.dlmm_pools(), FLAT_ROWS.dlmm_pools({ pubkey: 'p2', active_id: 8_000 })],
  dlmm_hours: [FLAT_ROWS.dlmm_hours(), FLAT_ROWS.dlmm_hours({ hour: HOUR + 3600, fees_usd: 0 })],
  token_hours: [
    FLAT_ROWS.token_hours(),
    FLAT_ROWS.token_hours({ hour: HOUR + 7200, organic_volume_usd: 1 / 3 }),
  ],
};

const contentsOf = (data: string) => withStoreOf(data, flatContents);

it('Rows are the same from files of every format, also when ingested again', async () => {
  const model = new PlainFlatStore();
  const files: [FlatDataset, string[]][] = [];
  for (const dataset of FLAT_DATASETS) {
    model.commit(dataset, ROWS[dataset]);
    const forms = await scratch.forms(ROWS[dataset]);
    files.push([dataset, forms.map(([name]) => name)]);
  }
  const expected = model.contents();
  const formats = files[0][1].length;
  for (let format = 0; format < formats; format++) {
    const data = scratch.place(`format-${format}`);
    await withStoreOf(data, async (store) => {
      for (const [dataset, names] of files) {
        const [report] = await ingest(data, dataset, [names[format]], { store });
        expect(report).toMatchObject({ rows: ROWS[dataset].length, snapshots: 0, cells: 0 });
      }
      expect(await flatContents(store), files[0][1][format]).toEqual(expected);
      if (format > 0) return;
      for (const [dataset, names] of files) await ingest(data, dataset, names, { store });
      expect(await flatContents(store)).toEqual(expected);
    });
  }
});

describe.each(FLAT_DATASETS)('Files of %s', (dataset) => {
  it('with one invalid row leave the store unchanged', async () => {
    const data = scratch.place(`${dataset}-refused`);
    await withStoreOf(data, async (store) => {
      const put = (name: string) => ingest(data, dataset, [name], { store });
      await put(file('.ndjson', lines(ROWS[dataset])));
      const before = await flatContents(store);
      const [key] = Object.keys(ROWS[dataset][0]);
      const bad = file('.ndjson', lines([FLAT_ROWS[dataset]({ [key]: 'new' }), { [key]: 7 }]));
      await expect(put(bad)).rejects.toThrow(`${bad}:2: ${key}: must be `);
      expect(await flatContents(store)).toEqual(before);
    });
  });
});

const TIME = 'must be an integer from 0 to 4294967295';
const AMOUNT = 'must be a number >= 0';
const ORDER_USD = 'must be a number from 0 to 1e+30';
const KEY = 'must be a text of 1 to 200 characters';
const FULL_HOUR = `${TIME}, a multiple of 3600`;

/** A field, values that are invalid for it, and the message for each. */
const FAULTS: Record<FlatDataset, [string, unknown[], string][]> = {
  dca_orders: [
    ['dca_address', [null, '', 5, 'x'.repeat(201)], KEY],
    [
      'dca_address',
      ['a\0b', '\ud800'],
      'must be a text without NUL characters and halves of surrogate pairs',
    ],
    ['token_address', ['x', EVM], 'must be an address of mainchain'],
    ['direction', ['buy', null], 'must be one of BUY, SELL'],
    ['paired_symbol', [null, 1], 'must be a text of at most 200 characters'],
    ['deposited_usd', [-1, null, '5', 1e31], ORDER_USD],
    ['remaining_usd', [-1e-9, null, true], ORDER_USD],
    ['cycle_usd', [-1, null], ORDER_USD],
    ['cycle_frequency', [0, -60, null], 'must be a number > 0'],
    ['next_cycle_at', [-1, 1.5, 1_794_659_700_000, null], TIME],
    ['min_usd', [-1, '1'], `${AMOUNT} or null`],
    ['max_usd', [-1], `${AMOUNT} or null`],
    ['min_usd', [2.6], 'must not be greater than max_usd, 2.5'],
    ['closed', [0, 1, 'true', 'yes'], 'must be true or false or null'],
  ],
  limit_orders: [
    ['order_address', [null, ''], KEY],
    ['chain', ['solana', null], 'must be one of mainchain, evmchain'],
    ['token_address', [MINT], 'must be an address of evmchain'],
    ['direction', ['SELL '], 'must be one of BUY, SELL'],
    ['platform', [null], 'must be a text of at most 200 characters'],
    ['maker', [null], 'must be a text of at most 200 characters'],
    ['usd_price', [0, -1, null], 'must be a number > 0'],
    ['remaining_usd', [-1], ORDER_USD],
    ['pct_complete', [-0.1, 1.1, 25, null], 'must be a fraction from 0 to 1 (0.25 is 25%)'],
    ['created_at', ['2026-11-20', 0.5], TIME],
    ['closed', [2], 'must be true or false or null'],
  ],
  dlmm_pools: [
    ['pubkey', ['', null], KEY],
    ['bin_step', [0, 10_001, 1.5, null], 'must be an integer from 1 to 10000'],
    ['active_id', [2 ** 24, 0.5, null], 'must be an integer from -8388608 to 8388608'],
    ['token_x_mint', [EVM], 'must be an address of mainchain'],
    ['token_y_mint', ['USDC'], 'must be an address of mainchain'],
    ['token_x_decimals', [-1, 37], 'must be an integer from 0 to 36'],
    ['token_y_decimals', [null], 'must be an integer from 0 to 36'],
    ['reserve_x', [-1, null], AMOUNT],
    ['reserve_y', [-1], AMOUNT],
    ['base_fee_pct', [-1], 'must be a percentage >= 0 (0.25 is 0.25%)'],
    ['dynamic_fee_pct', [null], 'must be a percentage >= 0 (0.25 is 0.25%)'],
    ['num_positions', [1.5, -1], 'must be an integer >= 0'],
    ['num_wallets', [null], 'must be an integer >= 0'],
  ],
  dlmm_hours: [
    ['pubkey', [null], KEY],
    ['hour', [HOUR + 1, -3600, null, HOUR * 1000], FULL_HOUR],
    ['fees_usd', [-1, null], AMOUNT],
    ['volume_usd', [-1], AMOUNT],
    ['tvl_usd', [-1], AMOUNT],
  ],
  token_hours: [
    ['chain', ['evm'], 'must be one of mainchain, evmchain'],
    ['address', [EVM, 'x'], 'must be an address of mainchain'],
    ['hour', [1800, 0.5], FULL_HOUR],
    ['organic_volume_usd', [-1, null], AMOUNT],
  ],
};

describe('A fault', () => {
  it.each(FLAT_DATASETS)('of %s is reported for each field', async (dataset) => {
    const cases = FAULTS[dataset].flatMap(([field, values, message]) =>
      values.map((value) => ({ row: FLAT_ROWS[dataset]({ [field]: value }), field, message })),
    );
    // A file reports ten faults at a time.
    for (let i = 0; i < cases.length; i += 10) {
      const some = cases.slice(i, i + 10);
      const faultsOf = await scratch.faultsOf(
        dataset,
        file('.ndjson', lines(some.map(({ row }) => row))),
      );
      // own-files.test.ts tests the suggested flags.
      const plain = faultsOf.map((fault) =>
        fault.replace(/: (looks like|numbers as text|it is|a fraction|"[^"]+" for).*/, ''),
      );
      expect(plain).toEqual(
        some.map(({ field, message }, at) => `${at + 1}: ${field}: ${message}`),
      );
    }
    const required = Object.keys(FLAT_ROWS[dataset]()).filter(
      (name) => !/^(min_usd|max_usd|closed)$/.test(name),
    );
    const header = file('.csv', 'min_usd,max_usd,closed\n1,2,true\n');
    expect(await scratch.faultsOf(dataset, header)).toEqual(
      required.map(missingColumnFault).slice(0, 10),
    );
  });

  it('is reported with its place in every format', async () => {
    const rows = [dcaRow(), dcaRow({ dca_address: 'b', cycle_frequency: 0, remaining_usd: -1 })];
    const at = (line: number) => [
      `${line}: remaining_usd: ${ORDER_USD}: it is -1`,
      `${line}: cycle_frequency: must be a number > 0: it is 0`,
    ];
    for (const [name, line] of await scratch.forms(rows)) {
      expect(await scratch.faultsOf('dca_orders', name)).toEqual(at(line + 1));
    }
  });

  it('of a CSV boolean is reported unless it is true or false in lower case', async () => {
    for (const value of ['TRUE', 'False', '1', ' true']) {
      const text = csv([dcaRow()]).replace(/,false\n/, `,${value}\n`);
      expect(await scratch.faultsOf('dca_orders', file('.csv', text))).toEqual([
        '2: closed: must be true or false or null',
      ]);
    }
    const source = file('.ndjson', lines([dcaRow()]));
    const number = await scratch.parquet(`SELECT * REPLACE (1 AS closed) FROM ${readJson(source)}`);
    expect(await scratch.faultsOf('dca_orders', number)).toEqual([
      '1: closed: must be true or false or null',
    ]);
  });
});

it('Addresses of the other chain are stored in lower case', async () => {
  const row = FLAT_ROWS.limit_orders({
    token_address: EVM.replace('x', 'X'),
    maker: EVM,
    order_address: EVM.toUpperCase(),
  });
  const data = scratch.place('lower');
  await ingest(data, 'limit_orders', [file('.ndjson', lines([row]))]);
  const low = EVM.toLowerCase();
  expect((await contentsOf(data)).limit).toMatchObject([
    { tokenAddress: low, maker: low, orderAddress: low },
  ]);
});
