import { describe, expect, it } from 'vitest';
import { MAX_FAULTS } from '../../compute/ingest/fields.js';
import { binSnapshotLines, binSnapshotRows } from '../../compute/ingest/snapshots.js';

type Loose = Record<string, unknown>;

const good: Loose = {
  chain: 'mainchain',
  address: 'So11111111111111111111111111111111111111112',
  t: 1_794_000_000,
  tier: 'raw',
  price_usd: 2,
  markets: [],
};
const goodMarket: Loose = {
  source: 'Kraken',
  exchange_type: 'CEX',
  address: null,
  pair: 'A/B',
  cells: [],
};
const EVM = `0x${'a'.repeat(40)}`;

const bin = (...rows: unknown[]) => binSnapshotRows(rows, { firstLine: 7, mode: 'replace' });
const inRow = (more: Loose) => ({ ...good, ...more });
const inMarket = (more: Loose) => inRow({ markets: [{ ...goodMarket, ...more }] });
const body = (kind: string, value: unknown) =>
  inMarket({ exchange_type: 'DEX', cells: undefined, [kind]: value });

const book = (more: Loose) => body('book', { bids: [], asks: [], ...more });
const pool = { reserve_token: 1, reserve_quote: 1, quote_usd: 1 };
const cp = (more: Loose) => body('constant_product', { ...pool, ...more });
const clmmBody = {
  sqrt_price_x96: String(2n ** 96n),
  ticks: [],
  decimals0: 6,
  decimals1: 6,
  token: 0,
  quote_usd: 1,
};
const clmm = (more: Loose) => body('clmm', { ...clmmBody, ...more });
const dlmmBody = {
  bin_step: 20,
  active_id: 0,
  bins: [],
  decimals_x: 6,
  decimals_y: 6,
  token: 'x',
  quote_usd: 1,
};
const dlmm = (more: Loose) => body('dlmm', { ...dlmmBody, ...more });

/** A list of lists, as text. */
const list = (text: string) => text.split(' ').map((item) => JSON.parse(item) as unknown);
const cells = (text: string) => inMarket({ cells: list(text) });
const ticks = (text: string) => clmm({ ticks: list(text) });
const bins = (text: string) => dlmm({ bins: list(text) });

const NUMBER = 'must be a number > 0';
const AMOUNT = 'must be a number >= 0';
const NAME = 'must be null or a string of 1 to 200 characters';
const BODIES = 'must have exactly one of cells, book, constant_product, clmm or dlmm';
const T = 'must be whole epoch seconds from 1 to 4294967295';
const TICK = 'tick must be an integer from -887272 to 887272';
const NET = 'liquidity_net must be a decimal string of a signed 128-bit integer';
const SQRT = 'must be a decimal string, > 0 and below 2^160';
const DECIMALS = 'must be an integer from 0 to 36';
const CENTS = 'a snapshot holds at most 9007199254740991 cents in all';
const SHAPE = 'must be an address of mainchain, this one has the shape of evmchain';
const TYPES = 'must be onchain_pool, onchain_limit_order, cex_spot or cex_perp';
const ADDRESS = 'must be a base58 address (32 to 44 characters) or 0x and 40 hex digits';
const SOURCE = 'must be a name with a letter a-z or a digit, at most 200 characters';

/** In fields, M stands for the first market. */
const oneFault: [string, string, unknown][] = [
  ['json', 'must be an object', [1]],
  ['chain', 'must be mainchain or evmchain', inRow({ chain: 'solana' })],
  ['address', ADDRESS, inRow({ address: 'abc' })],
  ['address', ADDRESS, inRow({ address: undefined })],
  ['address', SHAPE, inRow({ address: EVM })],
  ['t', T, inRow({ t: 1.5 })],
  ['t', T, inRow({ t: 0 })],
  ['t', T, inRow({ t: '1794000000' })],
  ['t', T, inRow({ t: 4_294_967_296 })],
  ['t', T, inRow({ t: 1_794_000_000_000 })],
  ['tier', 'must be raw, 15m or 1h', inRow({ tier: '5m' })],
  ['price_usd', NUMBER, inRow({ price_usd: 0 })],
  ['price_usd', NUMBER, inRow({ price_usd: '2' })],
  ['price_usd', NUMBER, inRow({ price_usd: Infinity })],
  ['price_usd', 'must be from 1e-300 to 1e+300', inRow({ price_usd: 1e-305 })],
  ['markets', 'must be a list of at most 65535 markets', inRow({ markets: undefined })],
  ['markets[0]', 'must be an object', inRow({ markets: ['Kraken'] })],
  ['M.source', SOURCE, inMarket({ source: '' })],
  ['M.source', SOURCE, inMarket({ source: '***' })],
  ['M.source', SOURCE, inMarket({ source: 'a'.repeat(201) })],
  ['M.source', SOURCE, inMarket({ source: null })],
  ['M.exchange_type', 'must be DEX or CEX', inMarket({ exchange_type: 'dex' })],
  ['M.type', TYPES, inMarket({ type: 'perp' })],
  ['M.address', NAME, inMarket({ address: 5 })],
  ['M.pair', NAME, inMarket({ pair: 'x'.repeat(201) })],
  ['M.pair', NAME, inMarket({ pair: '' })],
  ['markets[0]', BODIES, inMarket({ cells: null })],
  ['markets[0]', BODIES, inMarket({ book: { bids: [], asks: [] } })],
  [
    'markets[1]',
    'is the same market as an earlier one of this snapshot',
    inRow({ markets: [goodMarket, { ...goodMarket, exchange_type: 'CEX', type: 'cex_spot' }] }),
  ],
  [
    'markets[1]',
    'gives the market constant-product a second time in this snapshot',
    inRow({
      markets: [
        { ...goodMarket, exchange_type: 'DEX', cells: undefined, constant_product: pool },
        { ...goodMarket, source: 'constant-product', exchange_type: 'DEX', pair: null },
      ],
    }),
  ],
  [
    'M.pair',
    'must be null for constant-product',
    inMarket({ source: 'constant-product', exchange_type: 'DEX' }),
  ],
  ['M.cells', 'must be a list of at most 1000000 entries', inMarket({ cells: {} })],
  ['M.cells[1]', 'must be [bin, support_usd, resistance_usd]', cells('[0,1,1] [1,1]')],
  ['M.cells[0]', 'bin must be an integer', cells('[0.5,1,1]')],
  ['M.cells[0]', 'support_usd must be a number >= 0', cells('[0,-1,1]')],
  ['M.cells[0]', 'resistance_usd must be a number >= 0', inMarket({ cells: [[0, 1, NaN]] })],
  ['M.cells[2]', 'bin 4 occurs twice', cells('[4,1,1] [5,1,1] [4,0,0]')],
  ['M.cells[1]', 'bin 900 occurs twice', cells('[900,1,1] [900,0,0]')],
  ['M.book', 'must be an object', body('book', [])],
  ['M.book.asks', 'must be a list of at most 1000000 entries', book({ asks: null })],
  ['M.book.bids[0]', 'must be [price_usd, size]', book({ bids: [[1, 2, 3]] })],
  ['M.book.bids[1]', 'price_usd must be a number > 0', book({ bids: list('[1,1] [0,1]') })],
  ['M.book.asks[0]', 'price_usd must be a number > 0', book({ asks: [['1', 1]] })],
  ['M.book.asks[0]', 'size must be a number >= 0', book({ asks: [[1, -0.1]] })],
  ['M.book.asks[0]', 'size must be a number >= 0', book({ asks: [[1, null]] })],
  ['M.constant_product', 'must be an object', body('constant_product', 4)],
  ['M.constant_product.reserve_token', AMOUNT, cp({ reserve_token: -1 })],
  ['M.constant_product.reserve_quote', AMOUNT, cp({ reserve_quote: '5' })],
  ['M.constant_product.quote_usd', NUMBER, cp({ quote_usd: 0 })],
  [
    'M.type',
    'must be onchain_pool or left out for this pool',
    inMarket({
      exchange_type: 'DEX',
      type: 'onchain_limit_order',
      cells: undefined,
      constant_product: pool,
    }),
  ],
  ['M.clmm', 'must be an object', body('clmm', 'x')],
  ['M.clmm.sqrt_price_x96', SQRT, clmm({ sqrt_price_x96: 79228162514264 })],
  ['M.clmm.sqrt_price_x96', SQRT, clmm({ sqrt_price_x96: '0' })],
  ['M.clmm.sqrt_price_x96', SQRT, clmm({ sqrt_price_x96: '0x10' })],
  ['M.clmm.sqrt_price_x96', SQRT, clmm({ sqrt_price_x96: String(2n ** 160n) })],
  ['M.clmm.ticks', 'must be a list of at most 1000000 entries', clmm({ ticks: 3 })],
  ['M.clmm.ticks[0]', 'must be [tick, liquidity_net]', ticks('[1]')],
  ['M.clmm.ticks[0]', TICK, ticks('[887273,"1"]')],
  ['M.clmm.ticks[0]', TICK, ticks('[0.5,"1"]')],
  ['M.clmm.ticks[1]', 'ticks must ascend: 4 follows 4', ticks('[4,"1"] [4,"1"]')],
  ['M.clmm.ticks[0]', NET, ticks('[4,1000]')],
  ['M.clmm.ticks[0]', NET, ticks('[4,"1e5"]')],
  ['M.clmm.ticks[0]', NET, clmm({ ticks: [[4, String(2n ** 127n)]] })],
  ['M.clmm.decimals0', DECIMALS, clmm({ decimals0: 37 })],
  ['M.clmm.decimals1', DECIMALS, clmm({ decimals1: -1 })],
  ['M.clmm.token', 'must be 0 or 1', clmm({ token: '0' })],
  ['M.clmm.quote_usd', NUMBER, clmm({ quote_usd: undefined })],
  ['M.dlmm', 'must be an object', body('dlmm', [])],
  ['M.dlmm.bin_step', 'must be an integer from 1 to 10000', dlmm({ bin_step: 0 })],
  ['M.dlmm.active_id', 'must be an integer', dlmm({ active_id: null })],
  ['M.dlmm.bins[0]', 'must be [id, amount_x, amount_y]', bins('[1,2]')],
  ['M.dlmm.bins[0]', 'id must be an integer', bins('["1",2,3]')],
  ['M.dlmm.bins[0]', 'amount_x must be a number >= 0', bins('[1,-2,3]')],
  ['M.dlmm.bins[0]', 'amount_y must be a number >= 0', bins('[1,2,"3"]')],
  ['M.dlmm.bins[1]', 'bin id 1 occurs twice', bins('[1,2,3] [1,0,0]')],
  ['M.dlmm.decimals_x', DECIMALS, dlmm({ decimals_x: 0.5 })],
  ['M.dlmm.decimals_y', DECIMALS, dlmm({ decimals_y: 99 })],
  ['M.dlmm.token', 'must be "x" or "y"', dlmm({ token: 0 })],
  ['M.dlmm.quote_usd', NUMBER, dlmm({ quote_usd: -1 })],
  ['markets', CENTS, cells('[0,1e15,0]')],
  [
    'markets',
    CENTS,
    inRow({
      price_usd: 1e300,
      markets: [{ ...goodMarket, cells: null, book: { bids: [[1e300, 1e300]], asks: [] } }],
    }),
  ],
];

describe('a wrong field', () => {
  it.each(oneFault)('%s: %s', (of, message, row) => {
    const field = of.replace(/^M\./, 'markets[0].');
    const batch = bin(good, row);
    expect(batch.faults).toEqual([{ line: 8, field, message }]);
    expect(batch.faultCount).toBe(1);
    expect(batch.runs).toEqual([]);
    expect(batch).toMatchObject({ rows: 2, snapshots: 0, cells: 0 });
  });

  it('does not occur in the rows on which the table is based', () => {
    for (const row of [good, inMarket({}), book({}), cp({}), clmm({}), dlmm({})]) {
      expect(bin(row).faults).toEqual([]);
      expect(bin({ ...row, color: 'red' }).snapshots).toBe(1);
    }
  });
});

describe('faults', () => {
  it('are one per wrong field, for all fields of a row', () => {
    const markets = [{ ...goodMarket, source: '', exchange_type: 1, cells: [[0, -1, -1], [0]] }, 3];
    const { faults } = bin({ chain: 'x', address: '', t: -1, tier: 'y', price_usd: null, markets });
    expect(faults.map((fault) => fault.field)).toEqual([
      'chain',
      'address',
      't',
      'tier',
      'price_usd',
      'markets[0].source',
      'markets[0].exchange_type',
      'markets[0].cells[0]',
      'markets[0].cells[1]',
      'markets[1]',
    ]);
  });

  it('are counted beyond the first ten', () => {
    const bids = Array.from({ length: 25 }, () => [0, 1]);
    const batch = bin(good, book({ bids }), inRow({ t: 0 }));
    expect(batch.faults.length).toBe(MAX_FAULTS);
    expect(batch.faultCount).toBe(26);
  });

  it('name lines that are not UTF-8 or not JSON', () => {
    const broken = Buffer.concat([
      Buffer.from(`${JSON.stringify(good)}\n\n{"chain": "main\n`),
      Buffer.from([0x22, 0xc3, 0x28, 0x22, 0x0a]),
      Buffer.from('12\n'),
    ]);
    const batch = binSnapshotLines({ bytes: broken, firstLine: 100, mode: 'replace' });
    expect(batch.faults).toEqual([
      { line: 102, field: 'json', message: 'must be one JSON object, whole on its line' },
      { line: 103, field: 'json', message: 'must be UTF-8' },
      { line: 104, field: 'json', message: 'must be an object' },
    ]);
    expect(batch.rows).toBe(4);
  });

  it('refuse a market that returns with another type', () => {
    const again = inMarket({ type: 'cex_perp' });
    expect(bin(inMarket({}), again).faults).toEqual([
      { line: 8, field: 'markets[0].type', message: 'must be cex_spot, as in an earlier row' },
    ]);
    expect(bin(inMarket({}), inMarket({ exchange_type: 'DEX', type: 'cex_spot' })).faults).toEqual([
      { line: 8, field: 'markets[0].exchange_type', message: 'must be CEX, as in an earlier row' },
    ]);
  });

  it('refuse a snapshot of more than 100,000 cells, counted after the 1 USD floor', () => {
    const wide = (usd: number) => Array.from({ length: 475 }, (_, i) => [i - 232, usd, 0]);
    const markets = (count: number, usd: number) =>
      Array.from({ length: count }, (_, i) => ({
        ...goodMarket,
        pair: `P${i}`,
        cells: wide(usd),
      }));
    expect(bin(inRow({ markets: markets(210, 1) })).cells).toBe(99_750);
    expect(bin(inRow({ markets: markets(211, 0.99) })).cells).toBe(0);
    expect(bin(inRow({ markets: markets(211, 1) })).faults).toEqual([
      { line: 7, field: 'markets', message: 'a snapshot holds at most 100000 cells' },
    ]);
    const halves = [
      inRow({ markets: markets(211, 1).slice(0, 100) }),
      inRow({ markets: markets(211, 1).slice(100) }),
    ];
    expect(binSnapshotRows(halves, { firstLine: 1, mode: 'merge' }).faults).toEqual([
      { line: 2, field: 'markets', message: 'a snapshot holds at most 100000 cells' },
    ]);
    expect(bin(...halves).cells).toBe(111 * 475);
  });

  it('refuse a token with more than 65,535 markets', () => {
    const half = (from: number) =>
      Array.from({ length: 40_000 }, (_, i) => ({ ...goodMarket, pair: `P${from + i}` }));
    const batch = bin(inRow({ markets: half(0) }), inRow({ t: 5, markets: half(30_000) }));
    expect(batch.faultCount).toBe(70_000 - 65_535);
    expect(batch.faults[0]).toEqual({
      line: 8,
      field: 'markets[35535].address',
      message: 'the token has more than 65535 markets',
    });
  });
});
