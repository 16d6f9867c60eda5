/** Tokens by symbol on the command line: in a store without a server, beside one, and over HTTP. */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fathom, newKey, serveHere, type Service, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import type { Ended } from '../support/processes.js';
import { answer, startProxy } from '../support/replay-proxy.js';
import { commitRows, commitTokens, MINT, orca, OTHER_MINT, snapshot } from '../support/stores.js';
import type { TokenRow } from '../../storage/contract.js';
import type { Json } from '../support/tables.js';

const T = 1_794_000_000;
const evm = (digit: string): string => `0x${digit.repeat(40)}`;
const DEPTH_ONLY = '9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E';

const EVM = { chain: 'evmchain' as const };

const data = temporaryDirectory();
let server: Service;
let key: string;
const TOKENS: Partial<TokenRow>[] = [
  { address: MINT, symbol: 'SOL', name: 'Wrapped SOL', asset: 'sol' },
  { ...EVM, address: evm('1'), symbol: 'SOL', name: 'Bridged', asset: 'sol', price_usd: 2 },
  { address: OTHER_MINT, symbol: 'USD', name: 'The real one', price_usd: 1 },
  { ...EVM, address: evm('2'), symbol: 'USD', name: 'No depth', price_usd: 1 },
  { ...EVM, address: evm('3'), symbol: 'USD', coverage: 'excluded' },
  { ...EVM, address: evm('4'), symbol: 'usd', name: 'Another case' },
  { address: DEPTH_ONLY, symbol: 'a:b 🐶', coverage: 'depth_only' },
  { ...EVM, address: evm('5'), symbol: MINT, name: 'An address' },
];

beforeAll(async () => {
  key = await newKey(data);
  await withStoreOf(data, async (store) => {
    await commitTokens(store, TOKENS);
    await commitRows(store, [
      ...[0, 60].map((s) => snapshot(T + s, [orca()])),
      snapshot(T, [orca()], { address: OTHER_MINT }),
      snapshot(T, [orca()], { address: DEPTH_ONLY }),
      // A token without a row of `tokens`.
      snapshot(T, [orca()], { chain: 'evmchain', address: evm('6') }),
    ]);
  });
});

const remove = (token: string, ...words: string[]): Promise<Ended> =>
  fathom(['delete', '--data', data, '--token', token, '--dry-run', '--json', ...words]);
const tokenOf = ({ stdout }: Ended): string => (JSON.parse(stdout) as Json).token as string;

const FOUND: [string, string, string][] = [
  ['mainchain:SOL', `mainchain:${MINT}`, `SOL is mainchain:${MINT} (Wrapped SOL)\n`],
  ['USD', `mainchain:${OTHER_MINT}`, `USD is mainchain:${OTHER_MINT} (The real one)\n`],
  ['a:b 🐶', `mainchain:${DEPTH_ONLY}`, `a:b 🐶 is mainchain:${DEPTH_ONLY}\n`],
  [MINT, `mainchain:${MINT}`, ''],
  [`mainchain:${MINT}`, `mainchain:${MINT}`, ''],
];
const REFUSED: [string, string][] = [
  [
    'SOL',
    `2 tokens have the symbol 'SOL': evmchain:${evm('1')} (SOL, Bridged, scored), mainchain:${MINT} (SOL, Wrapped SOL, scored); name one by mainchain:SOL or evmchain:SOL or its address`,
  ],
  ['evmchain:USD', `2 tokens on evmchain have the symbol 'USD': evmchain:${evm('2')}`],
  [
    'Usd',
    `no token has the symbol 'Usd'; nearest: mainchain:${OTHER_MINT} (USD, The real one, scored), `,
  ],
  [
    'SOLANA',
    `no token has the symbol 'SOLANA'; nearest: evmchain:${evm('1')} (SOL, Bridged, scored), mainchain:${MINT} (SOL, Wrapped SOL, `,
  ],
  [
    'solana:x',
    "no token has the symbol 'solana:x'; expected an address, CHAIN:ADDRESS, a symbol or CHAIN:SYMBOL",
  ],
  ['mainchain:0x12', "no token on mainchain has the symbol '0x12'; expected an address"],
];

describe.each(['without a server', 'beside a server'])('a store %s', (where) => {
  beforeAll(async () => {
    if (where === 'beside a server') {
      server = await serveHere(data, ['--as-of', String(T + 600), '--stale-after', '7d']);
    }
  });

  it.each(FOUND)('%s is %s', async (token, expected, note) => {
    const ended = await remove(token);
    expect(ended.stderr).toMatch(/dry run: would delete \d snapshots? /);
    expect(ended.stderr.slice(0, note.length)).toBe(note);
    expect(ended.stderr.split('\n').length).toBe(note === '' ? 2 : 3);
    expect([ended.status, tokenOf(ended)]).toEqual([0, expected]);
  });

  it.each(REFUSED)('%s is refused with its candidates', async (token, message) => {
    const ended = await remove(token);
    expect(ended.stderr).toContain(`--token: ${message}`);
    expect(ended.stderr.trim().split('\n').length).toBe(1);
    expect(ended.status).toBe(1);
  });

  it('has one scored token for prune and import, too', async () => {
    const before = ['--before', String(T + 1), '--dry-run', '--json'];
    const pruned = await fathom(['prune', '--data', data, '--token', 'USD', ...before]);
    expect([pruned.status, tokenOf(pruned)]).toEqual([0, `mainchain:${OTHER_MINT}`]);
    const file = path.join(data, 'none');
    const words = ['import', 'solscan-holders', file, '--at', String(T)];
    const imported = await fathom([...words, '--data', data, '--token', 'evmchain:SOL']);
    expect(imported.stderr).toContain(`SOL is evmchain:${evm('1')} (Bridged)\n`);
    expect(imported.stderr).toContain('--token: expected a token of mainchain');
    const written = await fathom([...words, '--out', file, '--token', 'SOL']);
    expect(written.stderr).toContain('--token: expected CHAIN:ADDRESS with --out');
    expect([imported.status, written.status]).toEqual([2, 2]);
  });
});

describe('a server', () => {
  it('scores the tokens that the store says are scored', async () => {
    const search = { chain: null, nowS: T + 600, limit: 100 };
    for (const query of ['', 's', 'USD', 'so', evm('1').slice(0, 5), 'w', MINT]) {
      const found = await fathomStore(query);
      const reply = await server.get(
        `/tokens?chain=all&limit=100${query === '' ? '' : `&query=${query}`}`,
        key,
      );
      const listed = ((await reply.json()) as Json).tokens as Json[];
      expect(found.map(({ address }) => address).sort()).toEqual(
        listed.map(({ address }) => address as string).sort(),
      );
      for (const { address, isScored, ...one } of found) {
        const other = listed.find((token) => token.address === address) as Json;
        expect([isScored, one.symbol, one.name]).toEqual([
          other.service_score !== null,
          other.symbol,
          other.name,
        ]);
        expect([one.priceUsd, one.firstT, one.lastT]).toEqual([
          other.price_usd,
          other.first_snapshot_at,
          other.last_snapshot_at,
        ]);
      }
    }
    expect(await fathomStore('')).toHaveLength(TOKENS.length + 1);
    async function fathomStore(query: string) {
      const { withStore } = await import('../../storage/access.js');
      const rewrite = () => Promise.reject(new Error('nothing is rewritten'));
      return withStore(data, { rewrite }, (store) => store.searchTokens({ ...search, query }));
    }
  });

  const run = (command: string, ...words: string[]): Promise<Ended> =>
    fathom([command, ...words, '--url', server.url], { FATHOM_KEY: key });

  it('is asked for the token of a symbol by replay and follow', async () => {
    const out = path.join(temporaryDirectory(), 'a.csv');
    const window = ['--from', String(T), '--to', String(T + 300)];
    const ended = await run('replay', 'mainchain:SOL', '--out', out, '--json', ...window);
    expect(ended.stderr).toContain(`SOL is mainchain:${MINT} (Wrapped SOL)\n`);
    expect([ended.status, tokenOf(ended)]).toEqual([0, MINT]);
    for (const [token, message] of REFUSED) {
      const stderr = `TOKEN: ${message.replaceAll(/, scored.*/g, '')}`;
      const replayed = await run(
        'replay',
        token,
        '--out',
        out.replace('a.csv', 'b.csv'),
        ...window,
      );
      expect([replayed.status, replayed.stderr]).toEqual([1, expect.stringContaining(stderr)]);
      const followed = await run('follow', token);
      expect([followed.status, followed.stderr]).toEqual([1, expect.stringContaining(stderr)]);
    }
  });

  it('cannot command the terminal by what it sends', async () => {
    const proxy = await startProxy(server.url);
    const evil = '\u001b]0;title\u0007\u009b2J\r\nx';
    const token = { chain: 'mainchain', address: MINT, symbol: evil, name: evil, price_usd: evil };
    const times = { first_snapshot_at: T, last_snapshot_at: T };
    const listed = { ...token, ...times, service_score: 1, stale: false };
    let address = MINT;
    proxy.script = () =>
      proxy.requests.at(-1)?.startsWith('/api/v1/tokens?') === true
        ? answer(200, { tokens: [{ ...listed, address }], next_cursor: null })
        : null;
    const environment = { FATHOM_KEY: key };
    const out = path.join(temporaryDirectory(), 'a.csv');
    const window = ['--from', String(T), '--to', String(T + 300), '--venues', `Orca,${evil}`];
    const words = [evil, '--url', proxy.url];
    const replayed = await fathom(['replay', ...words, '--out', out, ...window], environment);
    address = evil;
    const tabled = await fathom(['tokens', '--url', proxy.url], environment);
    await proxy.close();
    expect(replayed.stderr).toContain(`]0;title 2J x is mainchain:${MINT} (]0;title 2J x)\n`);
    expect(replayed.stderr).toContain('venues not found');
    expect([replayed.status, tabled.status]).toEqual([0, 0]);
    expect(replayed.stderr.split('\n').length).toBeLessThanOrEqual(4);
    expect(tabled.stdout.split('\n')).toHaveLength(4);
    for (const text of [replayed.stderr, tabled.stdout, tabled.stderr]) {
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    }
  });
});
