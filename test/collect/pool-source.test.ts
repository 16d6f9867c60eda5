/** Pools as sources of fathom collect: from the configuration to rows. */
import { describe, expect, it } from 'vitest';
import { checkSources } from '../../collect/check.js';
import { METEORA_DLMM, RAYDIUM_CPMM, WHIRLPOOL } from '../../collect/chains/solana-layouts.js';
import { AccountFields } from '../../collect/chains/solana-node.js';
import { Collector } from '../../collect/collector.js';
import { parseConfig } from '../../collect/config.js';
import { RestClient } from '../../collect/rest.js';
import { isMissing, type SourceContext } from '../../collect/source.js';
import { wallMs } from '../../storage/wall-clock.js';
import * as accounts from '../reference/solana-accounts.js';
import { RefusalError } from '../../storage/errors.js';
import { faultsOf, type SnapshotRow } from '../storage/import-helpers.js';
import { RpcNode } from '../support/rpc-node.js';
import { putTokens, SOL, SolanaStub, TOKENS, USDC, whirlpool } from '../support/solana-stub.js';

const ORCA = '24WZto6BNjNamZFUPf3nQZZaFpuvBwdqT5B8QQjpNjGb';
const RAYDIUM = '65shmpuYmxx5p7ggNCZbyrGLCXVqbBR1ZD5aAocRBUNG';
const OTHER = '9K1HWrGKZKfjTnKfF621BmEQdai4FcUz9tsoF41jwz5B';
const VAULTS = [
  'FSBDeuLQ19Hse2jzhHfDwTvEoeRWD7UKK4BM1zgbV7pY',
  'HJPjoWUrhoZzkNfRpHuieeFk9WcZWjwy6PBjZ81ngndJ',
] as const;
const RPC = 'http://127.0.0.1:1/secret-key';
const never = new AbortController().signal;

const contextOf = (): SourceContext => ({
  everyS: 60,
  rest: new RestClient(),
  log: () => undefined,
  onResync: () => undefined,
});
const clock = {
  wallMs,
  steadyMs: () => performance.now(),
  // No deadline: a busy machine may need long.
  sleep: (_ms: number, stop?: AbortSignal) =>
    new Promise<void>((done) => stop?.addEventListener('abort', () => done())),
};

/** A node with a Whirlpool and a constant-product pool of SOL at 150 USDC. */
async function openNode() {
  const stub = await SolanaStub.start();
  putTokens(stub);
  // 150 USDC of 6 decimals for a SOL of 9: 0.15 raw, at tick -18973.
  const tick = -18_973;
  stub.accounts.set(ORCA, [WHIRLPOOL.program, whirlpool(tick, 64, 10n ** 12n)]);
  const head = WHIRLPOOL.readPool(ORCA, new AccountFields(whirlpool(tick)));
  const start = Math.floor(tick / (88 * 64)) * 88 * 64;
  const nets = [
    [-19_008, 10n ** 12n],
    [-18_944, -(10n ** 12n)],
  ] as const;
  const array = accounts.packWhirlpoolArray('dynamic', { pool: ORCA, start, spacing: 64 }, nets);
  stub.accounts.set(head.addressOf(start), [WHIRLPOOL.program, array]);
  const pool = {
    status: 0,
    token_0_vault: VAULTS[0],
    token_1_vault: VAULTS[1],
    token_0_mint: SOL,
    token_1_mint: USDC,
    protocol_fees_token_0: 0,
    protocol_fees_token_1: 0,
    fund_fees_token_0: 0,
    fund_fees_token_1: 0,
    creator_fees_token_0: 0,
    creator_fees_token_1: 0,
  };
  stub.accounts.set(RAYDIUM, [
    RAYDIUM_CPMM.program,
    accounts.pack(accounts.CPMM_POOL, pool, 'PoolState'),
  ]);
  const vault = (mint: string, amount: bigint) =>
    [TOKENS, accounts.pack(accounts.TOKEN_ACCOUNT, { mint, amount })] as const;
  stub.accounts.set(VAULTS[0], vault(SOL, 1_000n * 10n ** 9n));
  stub.accounts.set(VAULTS[1], vault(USDC, 150_000n * 10n ** 6n));
  return stub;
}

const configOf = (rpc: string, ...more: object[]) =>
  parseConfig(
    JSON.stringify({
      tokens: [
        {
          token: `mainchain:${SOL}`,
          price: 'ray',
          sources: [
            { id: 'orca', kind: 'whirlpool', rpc, pool: ORCA },
            { id: 'ray', kind: 'raydium-cp', rpc, pool: RAYDIUM, quote_usd: 2 },
            ...more,
          ],
        },
      ],
    }),
    'c',
  );

describe('pools of a token', () => {
  it('become one snapshot, read at one slot', async () => {
    const stub = await openNode();
    const config = configOf(stub.node.url, {
      id: 'gone',
      kind: 'meteora-dlmm',
      rpc: stub.node.url,
      pool: VAULTS[0],
    });
    const rows: SnapshotRow[] = [];
    const commit = (lines: readonly string[]) => {
      rows.push(...lines.map((line) => JSON.parse(line)));
      return Promise.resolve();
    };
    const collector = new Collector({ config, clock, context: contextOf(), commit });
    collector.start();
    await collector.once(0, never);
    expect(faultsOf(rows)).toEqual([]);
    expect(rows.length).toBe(1);
    expect(rows[0].price_usd).toBe(300);
    expect(rows[0].markets).toMatchObject([
      {
        source: 'Orca',
        exchange_type: 'DEX',
        type: 'onchain_pool',
        address: ORCA,
        pair: `SOL/${USDC}`,
        // USDC is 1 USD where none is given.
        clmm: { token: 0, quote_usd: 1, decimals0: 9, decimals1: 6 },
      },
      {
        source: 'Raydium',
        address: RAYDIUM,
        constant_product: { reserve_token: 1_000, reserve_quote: 150_000, quote_usd: 2 },
      },
    ]);
    expect(rows[0].markets[0].clmm.ticks).toEqual([
      [-19_008, '1000000000000'],
      [-18_944, '-1000000000000'],
    ]);
    const problems = collector.statuses.map(({ missing }) => missing);
    expect(problems).toEqual([
      null,
      null,
      `${VAULTS[0]}: its account belongs to ${TOKENS}, not to ${METEORA_DLMM.program}: it is no pool of this kind`,
    ]);
    // The pools alone, then what they name: each once for all of them.
    expect(stub.node.requests.length).toBe(2);
  });

  it('are tried by --check, with what stands within 2% and what is wrong', async () => {
    const stub = await openNode();
    const other = { id: 'none', kind: 'whirlpool', rpc: stub.node.url, pool: USDC };
    const context = contextOf();
    const config = configOf(stub.node.url, other);
    // It is stopped once each source has answered: one of them never works.
    const stopping = new AbortController();
    let left = 3;
    for (const configured of config.tokens[0].sources) {
      const open = configured.open.bind(configured);
      configured.open = (opened) => {
        const source = open(opened);
        const sample = source.sample.bind(source);
        source.sample = async (t) => {
          const answer = await sample(t);
          if (--left === 0) setImmediate(() => stopping.abort());
          return answer;
        };
        return source;
      };
    }
    const found = await checkSources(config, context, {
      patienceMs: 20_000,
      stop: stopping.signal,
    });
    expect(found).toMatchObject([
      { id: 'orca', venue: 'Orca', missing: null, spreadPct: null },
      { id: 'ray', missing: null, price: 150 },
      { id: 'none', missing: expect.stringContaining('its account belongs to'), price: null },
    ]);
    // x y = k: 1,000 SOL at 150 give 1,000 * (1 - 1 / sqrt(1.01^1.5)) up to bin 1's end.
    const [bids, asks] = found[1].depth2Pct!;
    const liquidity = Math.sqrt(1_000 * 150_000);
    const [low, high] = [150 * 1.01 ** -2.5, 150 * 1.01 ** 1.5].map(Math.sqrt);
    expect(bids).toBeCloseTo(liquidity * (Math.sqrt(150) - low), 1);
    expect(asks).toBeCloseTo(liquidity * (high - Math.sqrt(150)), 1);
    expect(stub.node.requests.length).toBeLessThanOrEqual(4);
  });

  it('that a snapshot cannot hold are left out, and the others are stored', async () => {
    const stub = await openNode();
    // At the price of the others: more cents than a number holds exactly.
    const absurd = whirlpool(-18_973, 64, 10n ** 30n);
    stub.accounts.set(OTHER, [WHIRLPOOL.program, absurd]);
    const config = configOf(stub.node.url, {
      id: 'absurd',
      kind: 'whirlpool',
      rpc: stub.node.url,
      pool: OTHER,
    });
    const rows: SnapshotRow[] = [];
    const commit = (lines: readonly string[]) => {
      const given = lines.map((line) => JSON.parse(line) as SnapshotRow);
      const [fault] = faultsOf(given);
      if (fault !== undefined) return Promise.reject(new RefusalError(JSON.stringify(fault)));
      return Promise.resolve(void rows.push(...given));
    };
    const collector = new Collector({ config, clock, context: contextOf(), commit });
    collector.start();
    await collector.once(0, never);
    expect(collector.statuses.map(({ missing }) => missing)).toEqual([
      null,
      null,
      expect.stringMatching(/^the store refuses it: .*a snapshot holds at most/),
    ]);
    expect(rows.map(({ markets }) => markets.length)).toEqual([1, 1]);
  });

  it('whose other token has no USD price say so in --check', async () => {
    const stub = await openNode();
    const config = parseConfig(
      JSON.stringify({
        tokens: [
          {
            token: `mainchain:${USDC}`,
            sources: [{ id: 'orca', kind: 'whirlpool', rpc: stub.node.url, pool: ORCA }],
          },
        ],
      }),
      'c',
    );
    const [checked] = await checkSources(config, contextOf(), { patienceMs: 20_000, stop: never });
    expect(checked.missing).toBe('no USD price of its quote currency: expected quote_usd');
  });

  it('of another token leave a node alone that asks one of them for silence', async () => {
    const node = await RpcNode.start();
    node.intercept = (_asked, response) => {
      response.writeHead(429, { 'retry-after': '300' }).end();
      return true;
    };
    const source = { id: 'a', kind: 'whirlpool', rpc: node.url, pool: ORCA };
    const tokens = [
      { token: `mainchain:${SOL}`, sources: [source] },
      { token: `mainchain:${USDC}`, sources: [{ ...source, id: 'b' }] },
    ];
    const context = contextOf();
    const reasons: unknown[] = [];
    for (const token of parseConfig(JSON.stringify({ tokens }), 'c').tokens) {
      const opened = token.sources[0].open(context);
      opened.start();
      reasons.push(await opened.sample(60));
      opened.stop();
    }
    expect(reasons).toEqual([
      { missing: expect.stringMatching(/: HTTP 429$/) },
      { missing: expect.stringMatching(/: asks not to be asked for another \d+ s$/) },
    ]);
    expect(node.requests.length).toBe(1);
  });

  it('are left out while the node is down, and nothing names its key', async () => {
    const config = configOf(RPC);
    const source = config.tokens[0].sources[0].open(contextOf());
    source.start();
    const sample = await source.sample(60);
    source.stop();
    if (!isMissing(sample)) throw new Error('it has a sample');
    expect(sample.missing).toContain('127.0.0.1:1: ');
    expect(sample.missing).not.toContain('secret-key');
  });
});

const POOL = `0x${'ab'.repeat(20)}`;

it.each([
  ['no node', { pool: ORCA }, "rpc: expected the URL of a node of the pool's chain"],
  [
    'a node of another protocol',
    { rpc: 'wss://a', pool: ORCA },
    'rpc: expected an address that begins with http:// or https://',
  ],
  ['no pool', { rpc: RPC }, 'pool: expected a text'],
  ['a pool of another chain', { rpc: RPC, pool: POOL }, 'pool: expected a base58 address'],
  ['no whole key', { rpc: RPC, pool: ORCA.slice(0, -4) }, 'pool: expected a base58 address'],
  [
    'a kind of another chain',
    { kind: 'uniswap-v3', rpc: RPC, pool: POOL },
    'kind: its pools are of evmchain, the token is of mainchain',
  ],
  ['an unknown field', { rpc: RPC, pool: ORCA, pair: ORCA }, 'pair: unknown; expected'],
])('a configuration refuses %s', (_what, fields, message) => {
  const source = { id: 'a', kind: 'whirlpool', ...fields };
  const document = { tokens: [{ token: `mainchain:${SOL}`, sources: [source] }] };
  const parse = () => parseConfig(JSON.stringify(document), 'c');
  expect(parse).toThrow(`c: tokens[0].sources[0].${message}`);
});

it('a configuration names pools of the EVM chain, and forks by their venue', () => {
  const sources = [
    { id: 'v3', kind: 'uniswap-v3', rpc: RPC, pool: POOL.toUpperCase().replace('X', 'x') },
    { id: 'v2', kind: 'uniswap-v2', rpc: RPC, pair: POOL, venue: 'SushiSwap' },
  ];
  const document = { tokens: [{ token: `evmchain:${POOL}`, sources }] };
  const [token] = parseConfig(JSON.stringify(document), 'c').tokens;
  const opened = token.sources.map((source) => source.open(contextOf()));
  expect(opened.map(({ venue }) => venue)).toEqual(['Uniswap', 'SushiSwap']);
});
