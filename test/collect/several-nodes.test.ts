/** One configuration with pools of several nodes and chains: each node's pools of a token are of one block or slot. */
import { describe, expect, it } from 'vitest';
import { WHIRLPOOL } from '../../collect/chains/solana-layouts.js';
import { AccountFields } from '../../collect/chains/solana-node.js';
import { Collector } from '../../collect/collector.js';
import { parseConfig } from '../../collect/config.js';
import { RestClient } from '../../collect/rest.js';
import { wallMs } from '../../storage/wall-clock.js';
import * as accounts from '../reference/solana-accounts.js';
import { faultsOf, type SnapshotRow } from '../storage/import-helpers.js';
import { ANVIL, Chain, Uniswap } from '../support/anvil.js';
import { RpcNode } from '../support/rpc-node.js';
import { putTokens, SOL, SolanaStub, whirlpool } from '../support/solana-stub.js';

const ORCA = [
  '24WZto6BNjNamZFUPf3nQZZaFpuvBwdqT5B8QQjpNjGb',
  '65shmpuYmxx5p7ggNCZbyrGLCXVqbBR1ZD5aAocRBUNG',
];

/** A chain with two pools of v3 at different prices and a pair of v2; the node shows what is asked of it. */
async function openEvm(chainId: number) {
  const chain = await Chain.start('--chain-id', String(chainId));
  const uniswap = await Uniswap.deploy(chain);
  const pools: string[] = [];
  for (const [fee, spacing] of [
    [500, 10],
    [3000, 60],
  ]) {
    pools.push(await uniswap.createPool(fee, 2n * 2n ** 96n));
    const middle = Math.floor(13_863 / spacing) * spacing;
    await uniswap.mint(fee, middle - 100 * spacing, middle + 100 * spacing, [100, 400]);
  }
  const pair = await uniswap.createPair([100, 400]);
  const node = await RpcNode.start();
  node.passOnTo(chain.url);
  return { chain, uniswap, pools, pair, node };
}

/** The blocks at which contracts were called. */
const blocksOf = (node: RpcNode): number[] => [
  ...new Set(
    node.requests
      .flat()
      .filter(({ method }) => method === 'eth_call')
      .map(({ params }) => Number(params[1])),
  ),
];

describe.skipIf(ANVIL === null)('a configuration', () => {
  it('may have pools of several nodes and chains, at a block each', async () => {
    const [one, two] = [await openEvm(1), await openEvm(56)];
    // The same account deploys the same contracts: the token has the same address on both chains.
    const token = one.uniswap.tokens[0].toLowerCase();
    expect(two.uniswap.tokens[0].toLowerCase()).toBe(token);
    // The second chain is some blocks ahead.
    for (let i = 0; i < 5; i++) await two.chain.request('anvil_mine');
    // Both go on while they are read.
    for (const { node, chain } of [one, two]) {
      const { intercept } = node;
      node.intercept = (calls, response, body) => {
        void chain.request('anvil_mine').then(() => intercept(calls, response, body));
        return true;
      };
    }
    const stub = await SolanaStub.start();
    putTokens(stub);
    for (const pool of ORCA) {
      stub.accounts.set(pool, [WHIRLPOOL.program, whirlpool(-18_973, 64, 0n)]);
      const head = WHIRLPOOL.readPool(pool, new AccountFields(whirlpool(-18_973)));
      const start = Math.floor(-18_973 / (88 * 64)) * 88 * 64;
      const nets = [
        [-19_008, 10n ** 12n],
        [-18_944, -(10n ** 12n)],
      ] as const;
      const array = accounts.packWhirlpoolArray('fixed', { pool, start, spacing: 64 }, nets);
      stub.accounts.set(head.addressOf(start), [WHIRLPOOL.program, array]);
    }
    const sourcesOf = (name: string, { node, pools, pair }: typeof one) => [
      ...pools.map((pool, i) => ({
        id: `${name}${i}`,
        kind: 'uniswap-v3',
        rpc: node.url,
        pool,
        venue: name,
        quote_usd: 1,
      })),
      {
        id: `${name}-v2`,
        kind: 'uniswap-v2',
        rpc: node.url,
        pair,
        venue: `${name}-v2`,
        quote_usd: 1,
      },
    ];
    const orca = ORCA.map((pool) => ({ id: pool, kind: 'whirlpool', rpc: stub.node.url, pool }));
    const document = {
      tokens: [
        {
          token: `evmchain:${token}`,
          sources: [...sourcesOf('one', one), ...sourcesOf('two', two)],
        },
        { token: `mainchain:${SOL}`, sources: orca },
      ],
    };
    const rows: SnapshotRow[] = [];
    const collector = new Collector({
      config: parseConfig(JSON.stringify(document), 'c'),
      clock: {
        wallMs,
        steadyMs: () => performance.now(),
        // No deadline: a busy machine may need long.
        sleep: (_ms, stop) => new Promise((done) => stop?.addEventListener('abort', () => done())),
      },
      context: {
        everyS: 60,
        rest: new RestClient(),
        log: () => undefined,
        onResync: () => undefined,
      },
      commit: (lines) => Promise.resolve(void rows.push(...lines.map((line) => JSON.parse(line)))),
    });
    collector.start();
    await collector.once(0, new AbortController().signal);
    expect(collector.statuses.map(({ missing }) => missing)).toEqual(Array(8).fill(null));
    expect(faultsOf(rows)).toEqual([]);
    expect(rows.map(({ address, markets }) => [address, markets.length])).toEqual([
      [token, 6],
      [SOL, 2],
    ]);
    // All calls of a node's three pools are of one block, though a block came with each request.
    const blocks = [one, two].map(({ node }) => blocksOf(node));
    expect(blocks.map((each) => each.length)).toEqual([1, 1]);
    expect(blocks[0]).not.toEqual(blocks[1]);
    for (const { node } of [one, two]) {
      expect(node.requests.length).toBeGreaterThan(4);
      expect(node.requests.length).toBeLessThan(9);
    }
    // Solana's two are of one slot, in one reading.
    expect(stub.node.requests.length).toBe(2);
  });
});
