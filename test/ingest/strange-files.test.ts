/** Files as strangers have them: other words and marks, other datasets, documents of JSON, other endings. */
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../storage/errors.js';
import { type Dataset, DATASETS, formatOf } from '../../storage/ingest/datasets.js';
import { otherDataset } from '../../storage/ingest/other-dataset.js';
import { numberOfText } from '../../storage/ingest/texts.js';
import { cells, csv, lines, MINT, readJson, StoreScratch, snapshot } from '../support/ingest.js';

const scratch = new StoreScratch();

const T = 1_793_995_200;

const file = scratch.file.bind(scratch);
const faultsOf = scratch.refuses.bind(scratch);
const takes = scratch.takes.bind(scratch);

const LEVELS = [
  ['bid', 1499.5, 10],
  ['bid', 1480.25, 1200.5],
  ['ask', 1500.5, 12],
] as const;

/** The levels as texts, prices and sizes written by `write`, sides by `side`. */
const levels = (
  write: (value: number) => unknown,
  side = (name: 'bid' | 'ask'): string => name,
): Record<string, unknown>[] =>
  LEVELS.map(([name, price, size]) => ({
    chain: 'mainchain',
    address: MINT,
    t: T,
    source: 'Kraken',
    exchange_type: 'CEX',
    side: side(name),
    price: write(price),
    size: write(size),
  }));

const quoted = (rows: Record<string, unknown>[]): string => {
  const names = Object.keys(rows[0]);
  const line = (row: Record<string, unknown>) => names.map((name) => `"${row[name]}"`).join(';');
  return [names.join(';'), ...rows.map(line), ''].join('\n');
};

describe('numbers', () => {
  const expected = () => takes('levels', file('.csv', csv(levels((value) => value))));
  const german = new Intl.NumberFormat('de-DE', { maximumFractionDigits: 4 });
  const english = new Intl.NumberFormat('en-US', { maximumFractionDigits: 4 });
  const french = new Intl.NumberFormat('fr-FR', { maximumFractionDigits: 4 });
  const swiss = (value: number) => english.format(value).replaceAll(',', "'");

  it.each([
    ['a decimal comma', (value: number) => String(value).replace('.', ','), ','],
    ['German', (value: number) => german.format(value), ','],
    ['French', (value: number) => french.format(value), ','],
    ['English', (value: number) => english.format(value), '.'],
    ['Swiss', swiss, '.'],
  ])('with %s', async (_, write, mark) => {
    const whole = await expected();
    const flags = ['--decimal', mark];
    const rows = levels(write);
    expect(await takes('levels', file('.csv', quoted(rows)), '--delimiter', ';', ...flags)).toEqual(
      whole,
    );
    const ndjson = file('.ndjson', lines(rows));
    expect(await takes('levels', ndjson, ...flags)).toEqual(whole);
    const parquet = await scratch.parquet(`SELECT * FROM ${readJson(ndjson)}`);
    expect(await takes('levels', parquet, ...flags)).toEqual(whole);
  });

  it('get a refusal that says what is unusual about them', async () => {
    const first = async (price: string, ...flags: string[]) => {
      const [row] = levels((value) => value);
      return (await faultsOf('levels', file('.ndjson', lines([{ ...row, price }])), ...flags))[0];
    };
    const begin = '1: price: must be a number > 0: ';
    expect(await first('149,9')).toBe(`${begin}a decimal comma: add --decimal ','`);
    expect(await first('149,9', '--coerce')).toBe(`${begin}a decimal comma: add --decimal ','`);
    expect(await first('1,499.9')).toBe(`${begin}separated thousands: add --decimal .`);
    expect(await first('1,499')).toBe(
      `${begin}add --decimal ',' if 1,499 is 1.499, or --decimal . if it is 1499`,
    );
    expect(await first('$149')).toBe(`${begin}it is "$149"`);
    expect(await first('1.499', '--decimal', ',')).not.toContain('number');
    expect(await first('1.49', '--decimal', ',')).toBe(`${begin}it is "1.49"`);
  });

  it('of texts', () => {
    const of = (text: string) => [numberOfText(text, '.'), numberOfText(text, ',')];
    expect(of('1234')).toEqual([1234, 1234]);
    expect(of('-1,5e3')).toEqual([null, -1500]);
    expect(of('1.5')).toEqual([1.5, null]);
    expect(of('1.234.567,5')).toEqual([null, 1_234_567.5]);
    expect(of('12,34,567')).toEqual([null, null]);
    expect(of('1,2345')).toEqual([null, 1.2345]);
    expect(of('')).toEqual([null, null]);
  });
});

describe('words', () => {
  const SPELLINGS = [
    ['buy', 'sell'],
    ['B', 'A'],
    ['BID', 'ASK'],
    ['bids', 'asks'],
  ];

  it.each(SPELLINGS)('%s and %s are sides with --coerce', async (bid, ask) => {
    const whole = await takes('levels', file('.csv', csv(levels((value) => value))));
    const rows = levels(
      (value) => value,
      (name) => (name === 'bid' ? bid : ask),
    ).map((row) => ({ ...row, exchange_type: 'cex' }));
    const source = file('.csv', csv(rows));
    const faults = await faultsOf('levels', source);
    expect(faults.slice(0, 2)).toEqual([
      '2: exchange_type: must be DEX or CEX: "cex" for CEX: add --coerce',
      `2: side: must be bid or ask: "${bid}" for bid: add --coerce`,
    ]);
    expect(await takes('levels', source, '--coerce')).toEqual(whole);
  });

  it('without a meaning are quoted', async () => {
    const rows = levels(
      (value) => value,
      () => '0',
    );
    expect((await faultsOf('levels', file('.csv', csv(rows))))[0]).toBe(
      '2: side: must be bid or ask: it is "0"',
    );
  });
});

it('times that are none are shown, and fractions of a second have a flag', async () => {
  const at = (t: unknown) => csv(levels((value) => value).map((row) => ({ ...row, t })));
  const begin = '2: t: must be whole epoch seconds from 1 to 4294967295: ';
  expect((await faultsOf('levels', file('.csv', at('25/11/2026 20:53'))))[0]).toBe(
    `${begin}it is "25/11/2026 20:53"`,
  );
  const parts = file('.csv', at(`${T}.25`));
  expect((await faultsOf('levels', parts))[0]).toBe(
    `${begin}a fraction of a second: add --time-unit auto`,
  );
  expect(await takes('levels', parts, '--time-unit', 'auto')).toMatchObject([{ t: T }]);
});

describe('files of another dataset', () => {
  const ofLevels = levels((value) => value);
  const hour = [{ chain: 'mainchain', address: MINT, hour: T, organic_volume_usd: 1 }];
  const named = [{ chain: 'mainchain', address: MINT, symbol: 'SOL' }];

  afterEach(async () => {
    // Rows of another dataset would have taken the token's symbol away.
    expect((await scratch.store.tokensOfSymbols(['sol'])).length).toBeLessThan(2);
  });

  it('are refused, and named', async () => {
    await scratch.ingest('tokens', file('.ndjson', lines(named)));
    const is = (one: Dataset, other: Dataset) =>
      `1: dataset: the file holds ${other}, not ${one}: use fathom ingest ${other}`;
    const ndjson = file('.ndjson', lines(ofLevels));
    const parquet = await scratch.parquet(`SELECT * FROM ${readJson(ndjson)}`);
    for (const name of [ndjson, parquet, file('.csv', csv(ofLevels))]) {
      expect(await faultsOf('tokens', name)).toEqual([is('tokens', 'levels')]);
      expect(await faultsOf('cells', name)).toEqual([is('cells', 'levels')]);
    }
    expect(await faultsOf('tokens', file('.ndjson', lines([snapshot(T)])))).toEqual([
      is('tokens', 'snapshots'),
    ]);
    expect(await faultsOf('tokens', file('.ndjson', lines(hour)))).toEqual([
      is('tokens', 'token_hours'),
    ]);
    expect(await faultsOf('snapshots', file('.ndjson', lines(cells(T))))).toEqual([
      is('snapshots', 'cells'),
    ]);
    const cellsFile = file('.ndjson', lines(cells(T)));
    const cellsParquet = await scratch.parquet(`SELECT * FROM ${readJson(cellsFile)}`);
    expect(await faultsOf('levels', cellsParquet)).toEqual([is('levels', 'cells')]);
  });

  it('are accepted if a flag gives a field, or they have a field of the dataset', async () => {
    const both = ofLevels.map((row) => ({ ...row, name: 'Solana', symbol: 'SOL' }));
    for (const [rows, ...flags] of [[both], [hour, '--set', 'symbol=SOL']] as [
      object[],
      ...string[],
    ][]) {
      await scratch.ingest('tokens', file('.ndjson', lines(rows)), { flags });
      expect(await scratch.store.tokensOfSymbols(['sol'])).toHaveLength(1);
    }
  });

  it('are recognised by the fields that each dataset needs', () => {
    expect(otherDataset('tokens', ['chain', 'address'])).toBe(null);
    expect(otherDataset('levels', ['chain', 'address', 'symbol', 'px'])).toBe('tokens');
    for (const dataset of DATASETS) expect(otherDataset(dataset, ['owner'])).toBe(null);
  });
});

describe('rows of JSON without a field', () => {
  it('name the flag that gives it', async () => {
    const rows = levels(String).map(({ t, price, side, ...rest }) => ({
      ticker: 'SOL',
      time: t,
      px: price,
      side,
      size: rest.size,
      exchange: rest.source,
    }));
    expect((await faultsOf('levels', file('.ndjson', lines(rows)))).slice(0, 7)).toEqual([
      '1: chain: must be mainchain or evmchain: the row has "ticker": add --token-column ticker',
      expect.stringMatching(/^1: address: .*: the row has "ticker": add --token-column ticker$/),
      expect.stringMatching(/^1: t: .*: the row has "time": add --column t=time$/),
      expect.stringMatching(
        /^1: source: .*: the row has "exchange": add --column source=exchange$/,
      ),
      '1: exchange_type: must be DEX or CEX: the row has no such field: add --column exchange_type=NAME or --set exchange_type=VALUE, where VALUE is DEX or CEX',
      '1: price: must be a number > 0: the row has "px": add --column price=px',
      '1: size: must be a number >= 0: numbers as text: add --coerce',
    ]);
  });

  it('name it also for headers with units and spaces, and for columns that are not texts', async () => {
    const header = '"Time (ms)",Exchange Name,"Price [USD]"\n1,2,3\n';
    const faults = await faultsOf('levels', file('.csv', header));
    expect(faults).toContain(
      `1: t: no column "t"; the file has "Time (ms)": add --column t='Time (ms)'`,
    );
    expect(faults).toContain(
      `1: source: no column "source"; the file has "Exchange Name": add --column source='Exchange Name'`,
    );
    expect(faults).toContain(
      `1: price: no column "price"; the file has "Price [USD]": add --column price='Price [USD]'`,
    );
    const parquet = await scratch.parquet(`SELECT {'symbol': 'SOL'} AS token, 1 AS px`);
    expect((await faultsOf('levels', parquet))[1]).toMatch(/^1: address: the file has no column/);
  });
});

it('a field that no flag can give gets no suggestion of one', async () => {
  const book = { chain: 'mainchain', address: MINT, t: T, price_usd: 1500, bids: [] };
  expect(await faultsOf('snapshots', file('.ndjson', lines([book])))).toEqual([
    expect.stringMatching(/^1: markets: .*: the row has no such field: add --column markets=NAME$/),
  ]);
  const [, ...rows] = csv(levels((value) => value)).split('\n');
  expect(await faultsOf('levels', file('.csv', rows.join('\n')))).toEqual([
    '1: csv: the first line is no header: put one above it, such as chain,address,t,source,exchange_type,side,price,size',
  ]);
});

it('a JSON document gets the command that makes rows of it', async () => {
  const rows = levels((value) => value);
  const list = (name: string) =>
    `1: json: a list, not a row on each line: convert it with jq -c '.[]' ${name} > rows.ndjson`;
  for (const text of [JSON.stringify(rows), JSON.stringify(rows, null, 2)]) {
    const name = file('.ndjson', text);
    for (const dataset of ['levels', 'snapshots'] as const) {
      expect(await faultsOf(dataset, name)).toEqual([list(name)]);
    }
  }
  const packed = file('.ndjson.gz', gzipSync(JSON.stringify(rows)));
  expect(await faultsOf('levels', packed)).toEqual([
    `1: json: a list, not a row on each line: convert it with gzip -dc ${packed} | jq -c '.[]' > rows.ndjson`,
  ]);
  const one = file('.ndjson', `\n${JSON.stringify(rows[0], null, 2)}`);
  expect(await faultsOf('levels', one)).toEqual([
    `2: json: an object on several lines, not a row on each line: convert it with jq -c . ${one} > rows.ndjson`,
  ]);
});

it('a text of another format than the ending says gets the flag for it', async () => {
  const rows = levels((value) => value);
  const asJson = '1: json: looks like CSV: add --format csv';
  for (const text of [csv(rows), quoted(rows)]) {
    expect(await faultsOf('levels', file('.ndjson', text))).toEqual([asJson]);
  }
  expect(await faultsOf('levels', file('.csv', lines(rows)))).toEqual([
    '1: csv: looks like NDJSON: add --format ndjson',
  ]);
});

it('a row of levels with a whole book in lists gets the command that makes levels of it', async () => {
  const book = { t: T, bids: [['99', '10']], asks: [['101', '10']] };
  const name = file('.ndjson', lines([book]));
  const filter =
    'del(.bids, .asks) + ((.bids[] | {side: "bid", price: .[0], size: .[1]}), (.asks[] | {side: "ask", price: .[0], size: .[1]}))';
  expect(await faultsOf('levels', name)).toEqual([
    `1: json: a book in lists, not a level: convert it with jq -c '${filter}' ${name} > rows.ndjson`,
  ]);
});

it.each([
  ['a.tsv', 'the ending names no format: add --format csv --delimiter tab'],
  ['a.txt.gz', 'the ending names no format: add --format csv'],
  ['a.json', 'the ending names no format: add --format ndjson'],
  ['a.feather', 'the ending names no format: add --format arrow'],
  [
    'my file.csv.zst',
    "packed files are read only if packed by gzip: zstd -dc 'my file.csv.zst' | fathom ingest levels - --format csv",
  ],
  [
    'a.ndjson.xz',
    'packed files are read only if packed by gzip: xz -dc a.ndjson.xz | fathom ingest levels - --format ndjson',
  ],
  [
    'a.zip',
    'packed files are read only if packed by gzip: unzip -p a.zip | fathom ingest levels - --format csv',
  ],
  [
    'a.zip',
    'packed files are read only if packed by gzip: unzip -p a.zip | fathom ingest snapshots - --format ndjson',
    'snapshots' as const,
  ],
  ['a.doc', expect.stringMatching(/^the ending names no format; expected \.ndjson, /)],
])('endings of files %s: what to add', (name, what, dataset: Dataset = 'levels') => {
  const message = (): string => {
    try {
      return formatOf(name, dataset);
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
      return (error as Error).message.replace(`${name}: `, '');
    }
  };
  expect(message()).toEqual(what);
});
