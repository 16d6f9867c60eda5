/** `fathom mcp` as an assistant uses it, on the demo market: its numbers are those of the API. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it } from 'vitest';
import { fathomClient, type FathomClient } from '../../client/index.js';
import { MAX_ANSWER_CHARS } from '../../server/assistants/answer.js';
import { isoOf } from '../../compute/time.js';
import { fathomProcess, newKey, serve, serveHere, type Service } from '../support/cli.js';
import type { Json } from '../support/conformance.js';
import { demoMarket } from '../support/demo-market.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { heldService, KEY, MINT, NOW_S, steadyStore } from '../support/service.js';
import { eventually } from '../support/waiting.js';
import { MAX_RPC_BYTES } from '../../server/assistants/stdio.js';
import { cleanEnvironment, MAIN, run } from '../support/processes.js';
import { type Assistant, assistant } from './assistant.js';

const SOL = 'So11111111111111111111111111111111111111112';
const TOOL_NAMES = [
  'find_tokens',
  'token_score',
  'token_depth',
  'slippage',
  'depth_series',
  'compare_tokens',
  'board',
  'limit_orders',
  'dca_orders',
];

let server: Service;
let api: FathomClient;
let fathom: Assistant;

beforeAll(async () => {
  const directory = await demoMarket();
  const key = await newKey(directory);
  server = await serveHere(directory, ['--as-of', String(NOW_S)]);
  api = fathomClient({ url: server.url, key });
  fathom = await assistant(['--url', server.url], { FATHOM_KEY: key });
});

describe('an assistant', () => {
  it('finds tools that only read, each with a description and schemas of its arguments and answers', async () => {
    const { tools } = await fathom.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(TOOL_NAMES);
    for (const { description, annotations, inputSchema, outputSchema } of tools) {
      expect(description).toMatch(/\.$/);
      expect(annotations).toMatchObject({ readOnlyHint: true });
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(outputSchema?.properties).toHaveProperty('notes');
    }
    expect(fathom.client.getServerVersion()).toMatchObject({ name: 'fathom' });
    expect(fathom.client.getInstructions()).toContain('USD');
  });

  it('finds tokens by the beginning of a symbol, with their history', async () => {
    const { tokens } = await api.getTokens({ query: 'SOL', chain: 'all', limit: 10 });
    const { text, data } = await fathom.ask('find_tokens', { query: 'SOL' });
    expect(tokens.length).toBeGreaterThan(0);
    expect(data.tokens).toEqual(
      tokens.map((token) => ({
        address: token.address,
        chain: token.chain,
        symbol: token.symbol,
        name: token.name,
        score: token.service_score,
        price_usd: token.price_usd,
        history_from: isoOf(token.first_snapshot_at ?? 0),
        history_to: isoOf(token.last_snapshot_at ?? 0),
      })),
    );
    expect(text).toContain(`mainchain:${SOL}`);
    const none = await fathom.ask('find_tokens', { query: 'zzzz' });
    expect([none.isError, none.text]).toEqual([
      false,
      "Tokens that begin with 'zzzz': none. Try a shorter beginning.",
    ]);
  });

  it('gets a score with its explanation, now and at a time', async () => {
    for (const at of [undefined, '-1d']) {
      const score = await api.getScore({ address: SOL, explain: true, at });
      const { data, text } = await fathom.ask('token_score', { token: `mainchain:${SOL}`, at });
      expect(data).toMatchObject({
        symbol: 'SOL',
        score: score.service_score,
        price_usd: score.service_current_price,
        time: isoOf(score.data_time ?? 0),
        explanation: {
          depth_points: score.explain?.components.depth.points,
          balance_points: score.explain?.components.balance.points,
          weighted_support_usd: score.explain?.support,
        },
      });
      expect(text).toContain(`Liquidity score: ${score.service_score?.toFixed(1)} of 100.`);
    }
  });

  it('gets slippage with its bounds, now and at a time', async () => {
    for (const at of [undefined, '-2d']) {
      const given = { side: 'buy', usd: [5000, 250_000, 9e12], move_pct: [1, 3], at } as const;
      const reply = await api.getSlippage({
        address: SOL,
        ...given,
        usd: [...given.usd],
        move_pct: [1, 3],
      });
      const { data, text } = await fathom.ask('slippage', { token: SOL, ...given });
      expect(data).toMatchObject({
        time: isoOf(reply.t ?? 0),
        price_usd: reply.price_usd,
        fillable_usd: reply.fillable_usd,
        moves: reply.moves,
        orders: reply.quotes.map(({ venues: _, ...quote }) => quote),
      });
      expect(reply.quotes.map(({ filled }) => filled)).toEqual([true, true, false]);
      expect(text).toContain('not filled');
      expect(text).toContain(isoOf(reply.t ?? 0));
    }
  });

  it('gets depth by distance and by venue, equal to the series at that time', async () => {
    const { t, support_usd, resistance_usd, snapshot_t } = await api.getDepthSeries({
      address: SOL,
      from: NOW_S - 3600,
      to: NOW_S,
      step: '15m',
      pct: [1, 2, 30],
    });
    const last = t.length - 1;
    for (const i of [0, last]) {
      const { data } = await fathom.ask('token_depth', { token: SOL, at: t[i], pct: [1, 2, 30] });
      expect(data.time).toBe(isoOf(snapshot_t[i]));
      expect(data.depth).toEqual(
        [1, 2, 30].map((within_pct, p) => ({
          within_pct,
          support_usd: (support_usd as number[][])[p][i],
          resistance_usd: (resistance_usd as number[][])[p][i],
        })),
      );
      const within2 = data.depth[1];
      const sum = (data.venues as { support_usd: number }[]).reduce(
        (all, one) => all + one.support_usd,
        0,
      );
      expect(sum).toBeCloseTo(within2.support_usd, 2);
      expect(data.venues.map(({ type }: { type: string }) => type)).not.toContain('cex_perp');
    }
    const perps = await fathom.ask('token_depth', { token: SOL, types: ['cex_perp'] });
    expect(perps.data.venues.length).toBeGreaterThan(0);
    expect(new Set(perps.data.venues.map(({ type }: { type: string }) => type))).toEqual(
      new Set(['cex_perp']),
    );
  });

  it('gets a series whose extremes are of all points, and fewer points than that', async () => {
    const reply = await api.getDepthSeries({ address: SOL, from: '-2d', pct: [2] });
    const support = (reply.support_usd as number[][])[0];
    const { data, text } = await fathom.ask('depth_series', { token: SOL, from: '-2d' });
    expect(reply.t.length).toBeGreaterThan(48);
    expect(data.point_count).toBe(reply.t.length);
    expect(data.points.length).toBeLessThanOrEqual(48);
    expect(data.points.at(-1)).toMatchObject({
      time: isoOf(reply.t.at(-1) ?? 0),
      support_usd: support.at(-1),
    });
    expect(data.lowest_support).toMatchObject({
      support_usd: Math.min(...support),
      time: isoOf(reply.t[support.indexOf(Math.min(...support))]),
    });
    expect(data.highest_support.support_usd).toBe(Math.max(...support));
    expect(data.mean_support_usd).toBeCloseTo(support.reduce((a, b) => a + b) / support.length, 3);
    expect(text).toMatch(/points one in \d+ is shown/);
    const empty = await fathom.ask('depth_series', { token: SOL, from: '-300d', to: '-299d' });
    expect(empty.text).toContain('There is no snapshot in the window');
    expect(empty.data.points).toEqual([]);
  });

  it('learns where a series ends whose window is too long for its step', async () => {
    const store = new MemoryDepth().add('mainchain', MINT, steadyStore(2500, 1));
    const { server: other } = await heldService({ depth: store });
    const long = await assistant(['--url', other.url], { FATHOM_KEY: KEY });
    const { text, data } = await long.ask('depth_series', { token: MINT, from: '-3d', step: '1m' });
    expect(data.point_count).toBe(2000);
    expect(text).toMatch(
      /The window is too long for step 1m: the points end before 20\d\d-.*from=\d+ for the rest/,
    );
  });

  it('is told where a bridged token is answered with the numbers of its mainchain token', async () => {
    const { tokens } = await api.getTokens({ query: 'SOL', chain: 'evmchain', limit: 1 });
    const token = `evmchain:${tokens[0].address}`;
    const note = `${token} is a bridged token: the numbers are those of mainchain:${SOL}.`;
    for (const [tool, given] of [
      ['slippage', { token, side: 'sell' }],
      ['token_depth', { token }],
      ['depth_series', { token: 'evmchain:SOL', from: '-1h' }],
    ] as const) {
      const { data, text } = await fathom.ask(tool, given);
      expect([tool, data.chain, data.address]).toEqual([tool, 'mainchain', SOL]);
      expect(data.notes).toContain(note);
      expect(text).toContain(`mainchain:${SOL}, `);
    }
    const compared = await fathom.ask('compare_tokens', { tokens: ['evmchain:SOL', 'BARN'] });
    expect([compared.data.tokens[0].address, compared.data.notes[0]]).toEqual([SOL, note]);
  });

  it('compares tokens', async () => {
    const { tokens } = await api.getTokens({ query: 'BARN', limit: 1 });
    const [barn] = tokens;
    const { data, text } = await fathom.ask('compare_tokens', {
      tokens: [SOL, 'BARN'],
      usd: 20_000,
    });
    const order = { usd: [20_000], move_pct: [2] };
    const expected = [];
    for (const address of [SOL, barn.address]) {
      const score = await api.getScore({ address });
      const sale = await api.getSlippage({ address, side: 'sell', ...order });
      const purchase = await api.getSlippage({ address, side: 'buy', ...order });
      expected.push({
        address,
        chain: 'mainchain',
        symbol: score.symbol,
        time: isoOf(sale.t ?? 0),
        price_usd: sale.price_usd,
        score: score.service_score,
        sell_2pct_usd: sale.moves[0].usd,
        buy_2pct_usd: purchase.moves[0].usd,
        sell_slippage_pct: sale.quotes[0].slippage_pct,
        buy_slippage_pct: purchase.quotes[0].slippage_pct,
      });
    }
    expect(data.tokens).toEqual(expected);
    expect(text).toContain('Order of $20,000');
  });

  it('gets every board', async () => {
    const scores = await api.getTopScores({ chain: 'all', details: true });
    const top = await fathom.ask('board', { board: 'top_scores' });
    expect(top.data.rows.map(({ score }: { score: number }) => score)).toEqual(
      scores.tokens.slice(0, 10).map(({ service_score }) => service_score),
    );
    const pressure = await api.getDcaPressure({
      sort_by: 'usd',
      sort_dir: 'asc',
      sort_timeframe: '24_hr',
    });
    const selling = await fathom.ask('board', { board: 'dca_selling' });
    expect(selling.data.rows.map((row: Json) => row.net_next_24h_usd)).toEqual(
      pressure.tokens.map(({ impact }) => impact.net_usd_24_hr),
    );
    for (const board of ['dca_buying', 'lp_fee_density', 'hot_dlmm_pools']) {
      const { isError, text, data } = await fathom.ask('board', { board, limit: 3 });
      expect([isError, data.board, data.rows.length <= 3]).toEqual([false, board, true]);
      expect(text.split('\n').length).toBeGreaterThan(0);
    }
    const wrong = await fathom.ask('board', { board: 'dca_buying', chain: 'evmchain' });
    expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining('mainchain only') });
  });

  it('gets limit orders and DCA orders', async () => {
    const limits = await api.getLimitOrders({
      token_address: SOL,
      low_pct_change: -0.2,
      high_pct_change: 0.2,
      limit: 500,
    });
    const orders = await fathom.ask('limit_orders', {
      token: SOL,
      within_pct: 20,
      side: 'sell',
      limit: 5,
    });
    const sells = limits.orders.filter(({ direction }) => direction === 'SELL');
    expect(orders.data.order_count).toBe(sells.length);
    expect(orders.data.orders.map((one: Json) => one.price_usd)).toEqual(
      sells.slice(0, 5).map(({ usd_price }) => usd_price),
    );
    expect(orders.data.sell_usd).toBeCloseTo(
      sells.reduce((sum, { usd_resistance_amount }) => sum + usd_resistance_amount, 0),
      2,
    );
    expect(orders.text).toContain(`The first 5 of ${sells.length} orders are shown; for more`);
    const recurring = await api.getDcaOrders({ token_address: SOL, sort_by: 'usd_flow', limit: 3 });
    const dca = await fathom.ask('dca_orders', { token: SOL, limit: 3 });
    expect(recurring.orders.length).toBe(3);
    expect(dca.data.orders.map((one: Json) => one.filled_pct / 100)).toEqual(
      recurring.orders.map(({ pct_filled }) => expect.closeTo(pct_filled ?? NaN, 9)),
    );
    expect(dca.data.orders.map((one: Json) => one.next_24h_usd)).toEqual(
      recurring.orders.map(({ flow_projections }) => flow_projections.usd_next_24_hr),
    );
  });

  it('gets long answers cut to what a model can read, and is told so', async () => {
    const { text, data } = await fathom.ask('limit_orders', {
      token: SOL,
      within_pct: 99,
      limit: 100,
    });
    expect(text.length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
    expect(JSON.stringify(data).length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
    expect(text).toMatch(
      /The first \d+ of \d+ orders are shown; for less, ask for a smaller within_pct/,
    );
    expect(data.notes[0]).toBe(text.split('\n').find((line) => line.startsWith('The first')));
    expect(
      text.split('\n').filter((line) => / \| (buy|sell) \||^(buy|sell) \|/.test(line)).length,
    ).toBe(data.orders.length);
  });
});

describe('errors say what to change', () => {
  it.each([
    ['token_score', { token: 'SOLL' }, /no token has the symbol '?SOLL'?.*mainchain:So1111/],
    ['token_score', { token: `evmchain:${SOL}` }, /expected an address of evmchain, found 'So1/],
    ['token_score', {}, /^token: expected a value; it is missing\.$/],
    ['token_score', { token: 7 }, /^token: expected a text; was 7\.$/],
    [
      'token_score',
      { token: 'SOL'.repeat(100) },
      /^token: expected a text of at most 200 characters\.$/,
    ],
    ['slippage', { token: SOL, side: 'short' }, /^side: expected any of sell, buy; was 'short'\.$/],
    ['slippage', { token: SOL, side: 'sell', usd: [-5] }, /^usd: /],
    ['slippage', { token: SOL, side: 'sell', usd: 5 }, /^usd: expected a list; was 5\.$/],
    [
      'slippage',
      { token: SOL, side: 'sell', amount: 5 },
      /^amount: this tool has no such argument\. .*usd/,
    ],
    ['slippage', { token: SOL, side: 'sell', at: '2024-01-01' }, /365 days/],
    ['slippage', { token: SOL, side: 'sell', at: 'yesterday' }, /^at: expected epoch seconds/],
    [
      'slippage',
      { token: SOL, side: 'sell', venues: ['binanse'] },
      /There is no depth on this side of these markets; token_depth lists/,
    ],
    [
      'token_depth',
      { token: SOL, pct: [0] },
      /^pct: expected percents above 0 and up to 90; was 0\.$/,
    ],
    ['depth_series', { token: SOL, step: '7m' }, /^step: expected any of 1m, 5m/],
    ['depth_series', { token: SOL, from: '-1h', to: '-2h' }, /from/],
    ['compare_tokens', { tokens: [SOL] }, /^tokens: expected 2 to 5 tokens/],
    [
      'compare_tokens',
      { tokens: Array.from({ length: 9 }, () => SOL) },
      /^tokens: expected at most 5 items, 9 were sent\.$/,
    ],
    ['limit_orders', { token: SOL, within_pct: 200 }, /^within_pct: /],
    [
      'limit_orders',
      { token: SOL, limit: 1000 },
      /^limit: expected a whole number from 1 to 100; was 1000\.$/,
    ],
    ['dca_orders', { token: `0x${'1'.repeat(40)}` }, /mainchain/],
  ])('%s %j', async (tool, given, words) => {
    const { text, isError } = await fathom.ask(tool, given);
    expect(text).toMatch(words);
    expect(isError).toBe(!(given as { venues?: unknown }).venues);
  });

  it('without a key, with a wrong one, and without a server', async () => {
    const keyless = await assistant(['--url', server.url]);
    const none = await keyless.ask('find_tokens');
    expect(none).toMatchObject({
      isError: true,
      text: expect.stringContaining('fathom keys create'),
    });
    expect(none.text).toContain('FATHOM_KEY');
    expect(keyless.logged()).toContain('FATHOM_KEY is not set');
    const wrong = await assistant(['--url', server.url, '--key', 'fathom_wrong']);
    expect((await wrong.ask('find_tokens')).text).toMatch(/does not accept the key: .*FATHOM_KEY/s);
    const gone = await assistant(['--url', 'http://127.0.0.1:9'], { FATHOM_KEY: 'fathom_any' });
    const away = await gone.ask('find_tokens');
    expect(away.isError).toBe(true);
    expect(away.text).toMatch(
      /^The Fathom server at http:\/\/127\.0\.0\.1:9 does not answer: .*fathom serve/,
    );
    expect(away.text).not.toContain('trying again');
  });
});

describe('fathom mcp', () => {
  /** Makes the SDK a package that is not installed. */
  const WITHOUT_SDK = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
      `import{register}from'node:module';register('data:text/javascript,'+encodeURIComponent("export function resolve(s,c,n){if(s.startsWith('@modelcontextprotocol/'))throw Object.assign(new Error('Cannot find package '+s),{code:'ERR_MODULE_NOT_FOUND'});return n(s,c)}"))`,
    )}`,
  };

  it('says what to install where the SDK is missing, and serve does not load it', async () => {
    const { status, stdout, stderr } = await fathomProcess(['mcp'], { env: WITHOUT_SDK });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('npm ci --include=optional');
    const other = await serve(temporaryDirectory(), undefined, { env: WITHOUT_SDK });
    expect((await fetch(`${other.url}/healthz`)).status).toBe(200);
  });

  // A pipe; /dev/null, which ends without being closed; and a file.
  it.each([{ input: '' }, {}, { words: `exec "$0" "$1" mcp < "$1"` }])(
    'ends when its standard input ends, having written nothing to stdout: %j',
    async ({ words, ...options }: { words?: string; input?: string }) => {
      const { status, stdout, stderr } =
        words === undefined
          ? await fathomProcess(['mcp'], options)
          : await run('sh', ['-c', words, process.execPath, MAIN]);
      expect([status, stdout]).toEqual([0, '']);
      expect(stderr).toContain('serves an assistant on standard input and output');
      expect(stderr).not.toContain('unsettled');
    },
  );

  it('ends at a message that is too long, and says so', async () => {
    const child = spawn(process.execPath, [MAIN, 'mcp'], { env: cleanEnvironment() });
    let said = '';
    child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
    child.stdin.on('error', () => undefined);
    child.stdin.write('x'.repeat(MAX_RPC_BYTES + 1));
    const [status] = await once(child, 'close');
    expect([status, said]).toEqual([0, expect.stringMatching(/exceed/i)]);
  });

  it.each([
    [['--host', '0.0.0.0'], '--host: needs --http'],
    [['--http', 'x'], '--http: expected a whole number from 0 to 65535, not x'],
    [
      ['--http', '0', '--host', '0.0.0.0', '--key', 'k'],
      'whoever reaches the port would use the key',
    ],
    [['--key', 'a b'], '--key: expected an API key'],
    [['--url', 'ftp://x'], '--url: expected an http or https URL'],
  ])('refuses %j', async (words, message) => {
    const { status, stderr } = await fathomProcess(['mcp', ...words]);
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('a call', () => {
  it('ends its request when the assistant cancels it, and the next one is answered', async () => {
    const held: IncomingMessage[] = [];
    const slow = createServer((request) => held.push(request));
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    atEnd(() => slow.close());
    const { port } = slow.address() as AddressInfo;
    const waiting = await assistant(['--url', `http://127.0.0.1:${port}`], { FATHOM_KEY: 'any' });
    const cancelling = new AbortController();
    const call = waiting.client.callTool(
      { name: 'find_tokens', arguments: {} },
      { signal: cancelling.signal, timeout: 300_000 },
    );
    await eventually('the request is sent', () => held.length > 0);
    cancelling.abort();
    await expect(call).rejects.toThrow();
    await eventually('the request is given up', () => held[0].socket.destroyed);
    expect((await waiting.ask('slippage')).text).toMatch(/^token: expected a value/);
  });

  it('writes only the protocol to stdout, whatever it reads', async () => {
    const message = (method: string, id?: number, params: object = {}) =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const lines = [
      message('initialize', 1, {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'raw', version: '1' },
      }),
      message('notifications/initialized'),
      'this is not JSON',
      '{"jsonrpc":"2.0"}',
      message('tools/call', 2, { name: 'find_tokens', arguments: [] }),
      message('tools/call', 3, { name: 'slippage', arguments: { token: 7 } }),
      message('no/such/method', 4),
    ];
    const child = spawn(process.execPath, [MAIN, 'mcp', '--url', server.url], {
      env: cleanEnvironment({ FATHOM_KEY: 'fathom_wrong' }),
    });
    child.stdin.write(`${lines.join('\n')}\n`);
    const ids: number[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      const reply = JSON.parse(line) as { jsonrpc: string; id: number };
      expect(reply.jsonrpc).toBe('2.0');
      ids.push(reply.id);
      // Then it ends.
      if (ids.length === 4) child.stdin.end();
    }
    expect(ids.sort()).toEqual([1, 2, 3, 4]);
  });
});
