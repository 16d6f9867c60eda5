/** Files that were not made for a dataset: the flags that describe them, and what a refusal suggests. */
import {
  tableFromArrays,
  tableToIPC,
  TimestampMillisecond,
  vectorFromArray,
  Table,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { SymbolAddresses } from '../../storage/ingest/symbol-addresses.js';
import { timeIn, TIME_UNITS } from '../../storage/ingest/time-units.js';
import { fathom, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  cells,
  csv,
  ingest,
  lines,
  MINT,
  readJson,
  StoreScratch,
  snapshot,
  storedSnapshots,
} from '../support/ingest.js';

const scratch = new StoreScratch();

/** 2026-11-06T20:00:00Z */
const T = 1_793_995_200;
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';

const takes = scratch.takes.bind(scratch);
const faultsOf = scratch.refuses.bind(scratch);

describe('columns and constants', () => {
  const plain = cells(T);
  const renamed = plain.map(({ t, source: _, ...rest }) => ({ ...rest, 'the time': t, unused: 1 }));
  const flags = ['--column', 't=the time', '--set', 'source=Kraken'];

  it('give the same snapshots in every format', async () => {
    const expected = await takes('cells', scratch.file('.ndjson', lines(plain)));
    expect(expected).toHaveLength(1);
    const ndjson = scratch.file('.ndjson', `\n${lines(renamed)}`);
    expect(await takes('cells', ndjson, ...flags)).toEqual(expected);
    expect(await takes('cells', scratch.file('.csv', csv(renamed)), ...flags)).toEqual(expected);
    const semicolons = csv(renamed).replaceAll(',', ';');
    const other = scratch.file('.csv', semicolons);
    expect(await takes('cells', other, ...flags, '--delimiter', ';')).toEqual(expected);
    const tabs = scratch.file('.csv', csv(renamed).replaceAll(',', '\t'));
    expect(await takes('cells', tabs, ...flags, '--delimiter', 'tab')).toEqual(expected);
    const parquet = await scratch.parquet(`SELECT * FROM ${readJson(ndjson)}`);
    expect(await takes('cells', parquet, ...flags)).toEqual(expected);
    const columns = Object.fromEntries(
      Object.keys(renamed[0])
        .filter((name) => renamed[0][name as keyof (typeof renamed)[0]] !== null)
        .map((name) => [name, renamed.map((row) => row[name as keyof typeof row])]),
    );
    const arrow = scratch.file('.arrow', tableToIPC(tableFromArrays(columns), 'file'));
    expect(await takes('cells', arrow, ...flags)).toEqual(expected);
  });

  it('apply to rows of snapshots and of flat datasets', async () => {
    const row = { ...snapshot(T), t: undefined };
    const file = scratch.file('.ndjson', lines([row]));
    expect(await takes('snapshots', file, '--set', 't=2026-11-06T20:00:00Z')).toMatchObject([
      { t: T },
    ]);
    const holders = scratch.file('.csv', `wallet;amount\nAnn;1,5\nBob;2\n`);
    const ofHolders = [
      '--delimiter',
      ';',
      '--column',
      'owner=wallet',
      '--column',
      'balance=amount',
    ];
    const constants = ['--set', `token_address=${MINT}`, '--set', `t=${T}`];
    expect(await faultsOf('holders', holders, ...ofHolders, ...constants)).toEqual([
      "2: balance: must be a number from 0 to 1e+300: a decimal comma: add --decimal ','",
    ]);
  });

  it.each([
    [['--column', 'tt=x'], /--column tt=x: cells has no field tt; did you mean t\?/],
    [['--column', 't'], /--column: expected FIELD=NAME, not t/],
    [['--column', 't=a', '--column', 't=b'], /--column: t is given twice/],
    [['--column', 't=a', '--set', 't=5'], /--column and --set: t is given by both/],
    [['--set', 'chain=main'], /--set chain: expected mainchain or evmchain, not main/],
    [['--set', 'bin=x'], /--set bin: expected a number, not x/],
    [['--set', 't=soon'], /--set t: expected epoch seconds/],
    [['--time-unit', 'min'], /--time-unit: expected one of auto, s, ms, us, ns, iso, not min/],
    [['--delimiter', ';;'], /--delimiter: expected one character/],
    [
      ['--token-column', 's', '--set', `address=${MINT}`],
      /--token-column: address is given by --set/,
    ],
  ])('that make no sense are refused: %j', async (flags, message) => {
    const { status, stderr } = await fathom(['ingest', 'cells', 'none.csv', ...flags]);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  });

  it('must exist', async () => {
    const table = scratch.file('.csv', csv(cells(T)));
    expect((await faultsOf('cells', table, '--column', 'pair=name'))[0]).toMatch(
      /^1: name: --column pair=name: the file has no such column; it has "chain", "address", "t"/,
    );
    const rows = scratch.file('.ndjson', lines(cells(T)));
    expect((await faultsOf('cells', rows, '--column', 'pair=name'))[0]).toMatch(
      /no line has "name", which a flag names; the first has "chain", "address", "t"/,
    );
  });
});

describe('times', () => {
  it.each([
    ['ms', T * 1000 + 999],
    ['us', T * 1e6 + 1],
    ['ns', `${T}999999999`],
    ['iso', '2026-11-06T20:00:00.999Z'],
    ['iso', '2026-11-06 20:00'],
    ['iso', '2026-11-06T22:00:00+02:00'],
    ['auto', T * 1000],
    ['auto', T],
    ['auto', '2026-11-06 20:00:00 UTC'],
  ])('in %s: %s', async (unit, t) => {
    const file = scratch.file('.csv', csv(cells(T).map((row) => ({ ...row, t }))));
    expect(await takes('cells', file, '--time-unit', unit)).toMatchObject([{ t: T }]);
  });

  it('are read exactly, whatever the unit', () => {
    for (const unit of TIME_UNITS) expect(typeof timeIn(unit, 'tomorrow')).toBe('string');
    expect(timeIn('ns', '1793995200999999999')).toEqual({ t: T, fraction: 0.999999999 });
    expect(timeIn('auto', T * 1e6 + 250_000)).toEqual({ t: T, fraction: 0.25 });
    expect(timeIn('ms', T)).toBe(
      'must be a time in epoch milliseconds: this one would be 1970-01-21',
    );
    expect(timeIn('iso', '2026-02-30')).toMatch('must be an ISO time');
  });

  it('from timestamps need no unit', async () => {
    const source = scratch.file('.ndjson', lines(cells(T)));
    for (const type of ['TIMESTAMP', 'TIMESTAMPTZ', 'TIMESTAMP_NS']) {
      const query = `SELECT * REPLACE (to_timestamp(t)::${type} AS t, bin::DECIMAL(9, 2) AS bin) FROM ${readJson(source)}`;
      const parquet = await scratch.parquet(query);
      expect(await takes('cells', parquet)).toMatchObject([{ t: T }]);
      expect(await takes('cells', parquet, '--time-unit', 'ms')).toMatchObject([{ t: T }]);
    }
    const nested = scratch.file('.ndjson', lines([snapshot(T)]));
    const query = `SELECT * REPLACE (to_timestamp(t + 0.7) AS t) FROM ${readJson(nested)}`;
    expect(await takes('snapshots', await scratch.parquet(query))).toMatchObject([{ t: T }]);
    const rows = cells(T).map(({ type: _, market_address: __, ...row }) => row);
    const table = tableFromArrays(
      Object.fromEntries(
        Object.keys(rows[0]).map((name) => [name, rows.map((row) => row[name as 'pair'])]),
      ),
    );
    const times = vectorFromArray(
      rows.map(() => T * 1000),
      new TimestampMillisecond(),
    );
    const arrow = tableToIPC(table.assign(new Table({ t: times })), 'stream');
    expect(await takes('cells', scratch.file('.arrows', arrow))).toMatchObject([{ t: T }]);
  });
});

describe('texts of numbers', () => {
  const book = { bids: [['99.9', '10']], asks: [['100.1', '12']] };
  const market = { source: '7', exchange_type: 'CEX', pair: '1', book };
  const row = { ...snapshot(T), price_usd: '100', markets: [market] };

  it('are numbers with --coerce, at any depth', async () => {
    const [stored] = await takes('snapshots', scratch.file('.ndjson', lines([row])), '--coerce');
    expect(stored).toMatchObject({ t: T, priceUsd: 100, cells: [['7/1', 0, 99_900, 120_120]] });
    const texts = cells(T).map((cell) => ({ ...cell, bin: String(cell.bin), t: String(T) }));
    const file = scratch.file('.ndjson', lines(texts));
    const parquet = await scratch.parquet(
      `SELECT * REPLACE (bin::VARCHAR AS bin) FROM ${readJson(file)}`,
    );
    expect(await takes('cells', file, '--coerce')).toHaveLength(1);
    expect(await takes('cells', parquet, '--coerce')).toHaveLength(1);
  });
});

describe('a refusal suggests flags', () => {
  it('for times', async () => {
    const whole = 't: must be whole epoch seconds from 1 to 4294967295';
    const at = (t: unknown) => scratch.file('.ndjson', lines([{ ...snapshot(T), t }]));
    expect(await faultsOf('snapshots', at('2026-11-06T20:00:00Z'))).toEqual([
      `1: ${whole}: looks like ISO: add --time-unit iso`,
    ]);
    expect(await faultsOf('snapshots', at(T * 1000))).toEqual([
      `1: ${whole}: looks like milliseconds: add --time-unit ms`,
    ]);
    expect(await faultsOf('snapshots', at(String(T * 1e6)))).toEqual([
      `1: ${whole}: numbers as text: add --coerce; looks like microseconds: add --time-unit us`,
    ]);
    expect(await faultsOf('snapshots', at(T), '--time-unit', 'ms')).toEqual([
      '1: t: must be a time in epoch milliseconds: this one would be 1970-01-21: looks like seconds: add --time-unit s',
    ]);
    expect(await faultsOf('snapshots', at(String(T * 1000)), '--time-unit', 'ms')).toEqual([
      '1: t: must be a number: numbers as text: add --coerce',
    ]);
    const hours = {
      chain: 'mainchain',
      address: MINT,
      hour: 1_793_995_200_000,
      organic_volume_usd: 1,
    };
    expect((await faultsOf('token_hours', scratch.file('.ndjson', lines([hours]))))[0]).toMatch(
      /: looks like milliseconds: add --time-unit ms$/,
    );
  });

  it('for times only such as help', async () => {
    const whole = 't: must be whole epoch seconds from 1 to 4294967295';
    const row = { ...cells(T)[0] };
    const later = tableToIPC(
      new Table({
        ...Object.fromEntries(Object.entries(row).map(([name, x]) => [name, vectorFromArray([x])])),
        t: vectorFromArray([new Date(5e12)], new TimestampMillisecond()),
      }),
    );
    expect(await faultsOf('cells', scratch.file('.arrow', later))).toEqual([`1: ${whole}`]);
    const at = (t: number) => scratch.file('.ndjson', lines([{ ...row, t }]));
    expect(await faultsOf('cells', at(5e12), '--time-unit', 'auto')).toEqual([`1: ${whole}`]);
    expect(await faultsOf('cells', at(-1), '--time-unit', 'ns')).toEqual([
      '1: t: must be a time in epoch nanoseconds: this one would be 1969-12-31',
    ]);
  });

  it('for texts of numbers', async () => {
    const book = { bids: [['99.9', '10']], asks: [] };
    const row = snapshot(T, [], { markets: [{ source: 'A', exchange_type: 'CEX', book }] });
    expect(await faultsOf('snapshots', scratch.file('.ndjson', lines([row])))).toEqual([
      '1: markets[0].book.bids[0]: price_usd must be a number > 0: numbers as text: add --coerce',
    ]);
    const given = scratch.file('.ndjson', lines(cells(T)));
    const parquet = await scratch.parquet(
      `SELECT * EXCLUDE (bin), bin::VARCHAR AS step FROM ${readJson(given)}`,
    );
    expect(await faultsOf('cells', parquet, '--column', 'bin=step')).toEqual([
      '1: step: must be a column of numbers, this one is VARCHAR: numbers as text: add --coerce',
    ]);
  });

  it('for delimiters, columns and order', async () => {
    const semicolons = scratch.file('.csv', 't;chain;bin\n1;2;3\n');
    expect(await faultsOf('cells', semicolons)).toEqual([
      `1: csv: three columns in one: add --delimiter ';'`,
    ]);
    const tabs = scratch.file('.csv', 't\tchain\n');
    expect(await faultsOf('cells', tabs)).toEqual([
      '1: csv: two columns in one: add --delimiter tab',
    ]);
    const named = cells(T).map(({ t, address, ...row }) => ({
      ...row,
      timestamp: t,
      symbol: address,
    }));
    expect(await faultsOf('cells', scratch.file('.csv', csv(named)))).toEqual([
      '1: address: no column "address"; the file has "symbol": add --token-column symbol',
      '1: t: no column "t"; the file has "timestamp": add --column t=timestamp',
    ]);
    const [row] = await faultsOf('cells', scratch.file('.ndjson', lines(named)));
    expect(row).toMatch(/: the row has "symbol": add --token-column symbol$/);
    const apart = [...cells(T), ...cells(T + 1), ...cells(T)];
    expect((await faultsOf('cells', scratch.file('.csv', csv(apart))))[0]).toMatch(
      /must be adjacent: sort by chain, address, tier, t$/,
    );
  });
});

describe('symbols', () => {
  const rows = cells(T).map(({ chain: _, address: __, ...row }) => ({ ...row, coin: 'sol' }));
  const tokens = [
    { chain: 'mainchain', address: MINT, symbol: 'SOL' },
    { chain: 'mainchain', address: USDC, symbol: 'USDC' },
    { chain: 'evmchain', address: WETH, symbol: 'usdc' },
  ];

  it('find stored tokens', async () => {
    const flags = ['--token-column', 'coin'];
    const file = scratch.file('.csv', csv(rows));
    expect((await faultsOf('cells', file, ...flags))[0]).toBe(
      '2: coin: no token has the symbol "sol": ingest tokens first, or give addresses: --set chain=CHAIN --set address=ADDRESS in place of --token-column',
    );
    await scratch.ingest('tokens', scratch.file('.ndjson', lines(tokens)));
    const stored = await takes('cells', file, ...flags);
    expect(stored).toMatchObject([{ t: T }]);
    expect(await takes('cells', scratch.file('.ndjson', lines(rows)), ...flags)).toEqual(stored);
  });

  it('are looked up by a running server, and in a store that no server has open', async () => {
    const data = temporaryDirectory();
    await ingest(data, 'tokens', [scratch.file('.ndjson', lines(tokens))]);
    const file = scratch.file('.csv', csv(rows));
    const words = ['ingest', 'cells', file, '--token-column', 'coin', '--data', data];
    expect(await fathom(words)).toMatchObject({ status: 0 });
    const server = await serveHere(data);
    expect(await fathom(words)).toMatchObject({ status: 0 });
    await server.stop();
    expect(await storedSnapshots(data, 'mainchain', MINT)).toHaveLength(1);
  });

  it('of several tokens are refused with a list of them; the same case has precedence', async () => {
    const symbols = new SymbolAddresses('s', '--set address=ADDRESS', (names) =>
      Promise.resolve(tokens.filter(({ symbol }) => names.includes(symbol.toLowerCase())) as never),
    );
    await symbols.learn([{ line: 1, row: { s: 'UsdC' } }]);
    expect(symbols.find('USDC', null)).toMatchObject({ address: USDC });
    expect(symbols.find('UsdC', 'evmchain')).toMatchObject({ address: WETH });
    expect(symbols.find('UsdC', null)).toBe(
      `2 tokens have the symbol "UsdC": mainchain:${USDC}, evmchain:${WETH}: add --set chain=mainchain or --set chain=evmchain, or give addresses: --set address=ADDRESS`,
    );
    expect(symbols.find(7, null)).toBe('must be a symbol');
    const twice = new SymbolAddresses('s', '--set address=ADDRESS', () =>
      Promise.resolve([tokens[0], { ...tokens[0], address: USDC }] as never),
    );
    await twice.learn([{ line: 1, row: { s: 'SOL' } }]);
    expect(twice.find('SOL', null)).toMatch(/: give addresses: --set address=ADDRESS$/);
  });
});
