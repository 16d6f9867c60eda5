/** `fathom tokens`, of a server and of a data directory, against GET /tokens. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fathom, newKey, serveHere, type Service, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import type { Ended } from '../support/processes.js';
import { commitRows, commitTokens, MINT, orca, OTHER_MINT, snapshot } from '../support/stores.js';
import type { Json } from '../support/tables.js';

const T = 1_794_000_000;
const evm = (n: number): string => `0x${String(n).padStart(40, '0')}`;
const EVM = { chain: 'evmchain' as const };
const LONG = 'A name, "quoted", and\nof more than\u001b[31m forty characters';

const data = temporaryDirectory();
let server: Service;
let key: string;

beforeAll(async () => {
  key = await newKey(data);
  await withStoreOf(data, async (store) => {
    await commitTokens(store, [
      { address: MINT, symbol: 'SOL', name: 'Wrapped SOL' },
      { address: OTHER_MINT, symbol: 'a symbol of many characters', name: LONG, price_usd: 0.25 },
      ...Array.from({ length: 130 }, (_, i) => ({ ...EVM, address: evm(i), symbol: `S${i}` })),
      { ...EVM, address: evm(999) },
    ]);
    await commitRows(store, [
      ...[0, 86_400].map((s) => snapshot(T + s, [orca()], { price_usd: 1234.5678 })),
    ]);
  });
  server = await serveHere(data, ['--as-of', String(T + 90_000)]);
});
afterAll(() => server.stop());

const ofServer = (...words: string[]): Promise<Ended> =>
  fathom(['tokens', ...words, '--url', server.url], { FATHOM_KEY: key });
const ofStore = (...words: string[]): Promise<Ended> =>
  fathom(['tokens', ...words, '--data', data]);

it('prints a table of 80 columns, two lines a token', async () => {
  const ended = await ofServer('--chain', 'mainchain');
  expect(ended.stdout).toBe(
    [
      'SYMBOL        CHAIN      SCORE  PRICE, USD  HISTORY',
      `SOL           mainchain  16.0   1,234.6     2026-11-06 to 2026-11-07`,
      `  ${MINT}  Wrapped SOL`,
      'a symbol of…  mainchain  -      0.25        -',
      `  ${OTHER_MINT}  A name, "quoted", and o…`,
      '',
    ].join('\n'),
  );
  expect(ended.stdout.split('\n').every((line) => line.length <= 80)).toBe(true);
  const stored = await ofStore('--chain', 'mainchain');
  const columns = ({ stdout }: Ended) => stdout.split('\n').map((line) => line.split(/ {2,}/));
  const scores = columns(ended).map((row) =>
    row.map((cell) => (cell === '16.0' ? 'scored' : cell)),
  );
  expect(columns(stored)).toEqual(scores);
});

describe.each(['a server', 'a store'])('of %s', (of) => {
  const run = (...words: string[]) => (of === 'a server' ? ofServer : ofStore)(...words);
  const listed = async (...words: string[]): Promise<Json[]> =>
    JSON.parse((await run(...words, '--json')).stdout) as Json[];

  it('lists what GET /tokens lists, across its pages', async () => {
    const all: Json[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = cursor === '' ? '' : `&cursor=${cursor}`;
      const reply = (await (
        await server.get(`/tokens?chain=all&query=s&limit=100${page}`, key)
      ).json()) as Json;
      all.push(...(reply.tokens as Json[]));
      cursor = reply.next_cursor as string | null;
    }
    expect(all.length).toBe(131);
    const tokens = await listed('s', '--limit', '1000');
    const FIELDS = [
      'chain',
      'address',
      'symbol',
      'name',
      'price_usd',
      'first_snapshot_at',
      'last_snapshot_at',
    ];
    const common = (list: Json[]) =>
      list.map((token) => FIELDS.map((name) => token[name] as unknown));
    expect(common(tokens)).toEqual(common(all));
    expect(tokens.map(({ scored }) => scored as boolean)).toEqual(
      all.map(({ service_score: score }) => score !== null),
    );
    const few = await run('s', '--limit', '101', '--json');
    expect(few.stderr).toBe('there are more: see --limit\n');
    expect(common(JSON.parse(few.stdout) as Json[])).toEqual(common(all.slice(0, 101)));
    expect((await listed('S7')).map(({ symbol }) => symbol as string)[0]).toBe('S7');
    expect(await listed(MINT.slice(0, 5))).toHaveLength(1);
    expect((await run('')).status).toBe(2);
  });

  it('prints CSV that ends where it should', async () => {
    const score = of === 'a server' ? '16' : '';
    const head =
      'chain,address,symbol,name,scored,service_score,price_usd,first_snapshot_at,last_snapshot_at';
    expect((await run('sol', '--csv')).stdout).toBe(
      `${head}\nmainchain,${MINT},SOL,Wrapped SOL,true,${score},1234.5678,${T},${T + 86_400}\n`,
    );
    expect((await run('a sym', '--csv')).stdout).toBe(
      `${head}\nmainchain,${OTHER_MINT},a symbol of many characters,"${LONG.replaceAll('"', '""').replace('\n', ' ').replace('\u001b', ' ')}",false,,0.25,,\n`,
    );
  });

  it('says that nothing was found', async () => {
    const ended = await run('nothing');
    expect(ended).toEqual({ status: 0, stdout: '', stderr: 'no token begins with this text\n' });
  });
});

it.each([
  [['--limit', '0'], '--limit: expected a whole number from 1 to 1000, not 0'],
  [['--chain', 'solana'], '--chain: expected mainchain or evmchain, not solana'],
  [['--csv', '--json'], '--csv: cannot be combined with --json'],
  [['a', 'b'], 'unexpected b: expected only QUERY, flags'],
  [[], 'FATHOM_KEY: expected the API key in this variable'],
])('%j is wrong usage', async (words, message) => {
  const ended = await fathom(['tokens', ...words]);
  expect([ended.status, ended.stderr]).toEqual([2, expect.stringContaining(`fathom: ${message}`)]);
});
