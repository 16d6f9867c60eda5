/** The client against a running server: JSON and Arrow, pages in parallel, and faults in between. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../bench/programs.js';
import { fathomClient, type ReplayPage } from '../../client/index.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { expectSame } from '../support/same.js';
import { answer, hangUp, type Proxy, startProxy } from '../support/replay-proxy.js';
import {
  ENTERPRISE_KEY,
  KEY,
  MINT,
  NOW_S,
  heldService,
  steadyStore,
  WIDE_MINT,
} from '../support/service.js';
import { eventually } from '../support/waiting.js';

const BUSY = { error: 'Service Unavailable', message: 'busy', error_code: 'replay_busy' };
const EVM_ADDRESS = `0x${'1'.repeat(40)}`;
const FROM = NOW_S - 86_400;
const WINDOW = { from: FROM, to: NOW_S };

let proxy: Proxy;

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(40, 3));
depth.add('mainchain', WIDE_MINT, steadyStore(700, 60), { perSegment: 24 });
const service = await heldService({ depth });
beforeEach(async () => {
  proxy = await startProxy(service.server.url);
});
afterEach(() => proxy.close());

const clientOf = (url: string, options: Partial<Parameters<typeof fathomClient>[0]> = {}) =>
  fathomClient({ url, key: KEY, ...options });

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
/** The pages, in sequence. */
const pages = await all(clientOf(service.server.url).replay(WIDE_MINT, WINDOW, { ahead: 1 }));

it('depthSeries continues to the end of the window, with the step of the first reply', async () => {
  const window = { from: NOW_S - 86_400, to: NOW_S, pct: [1, 5] };
  const series = () => all(clientOf(proxy.url).depthSeries(WIDE_MINT, window));
  const query = { ...window, address: WIDE_MINT, step: '5m' as const };
  const whole = await clientOf(service.server.url).getDepthSeries(query);
  const half = { ...whole, t: whole.t.slice(0, 50), next_from: whole.t[50] };
  expect(whole.t.length).toBeGreaterThan(60);
  proxy.script = (request) => (request === 1 ? answer(200, half) : null);
  const replies = await series();
  expect(replies.map(({ t }) => t)).toEqual([half.t, whole.t.slice(50)]);
  expect(replies[1].support_usd).toEqual(
    (whole.support_usd as number[][]).map((own) => own.slice(50)),
  );
  proxy.script = () => answer(200, half);
  await expect(series()).rejects.toThrow('makes no progress');
});

// `npm start` and `npm test` build no declarations.
it('the package is built with its types when it is packed, and holds the files that run', () => {
  const { files, scripts, exports, bin } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    files: string[];
    scripts: Record<string, string>;
    exports: Record<string, Record<string, string>>;
    bin: Record<string, string>;
  };
  expect(scripts.prepack).toBe('npm run build');
  expect(scripts.build).toContain('tsc -p client --outDir dist/client');
  expect(files).not.toContain('test');
  const targets = [...Object.values(exports['./client']), ...Object.values(bin)];
  for (const target of targets) expect(files).toContain(path.normalize(target).split('/')[0]);
});

describe('methods', () => {
  it('put parameters into the path, the query and the body', async () => {
    const seen: string[] = [];
    const client = clientOf(`${proxy.url}/`, {
      key: ENTERPRISE_KEY,
      onReply: (headers) => seen.push(headers.get('x-api-tier') ?? ''),
    });
    const score = await client.getScore({ address: MINT, explain: true });
    expect([score.status, score.explain?.formula_version]).toEqual(['available', 'fathom.score.1']);
    expect((await client.postScore({ addresses: [MINT, WIDE_MINT] })).count).toBe(2);
    expect((await client.getTopScores()).count).toBe(2);
    const found = await client.getTokens({ query: MINT.slice(0, 9), chain: 'all', limit: 5 });
    expect(found.tokens.map(({ address }) => address)).toEqual([MINT]);
    const plan = await client.getReplayPlan({
      address: MINT,
      from: new Date(FROM * 1000 - 1),
      to: 'now',
      types: ['cex_spot', 'cex_perp'],
    });
    expect(plan.window.from).toBe(FROM);
    expect(proxy.requests.at(-1)).toMatch(/plan\?from=\d+&to=now&types=cex_spot%2Ccex_perp$/);
    expect(new Set(seen)).toEqual(new Set(['enterprise']));
  });

  it('fail with the server’s message', async () => {
    const client = clientOf(service.server.url);
    const beyond = client.getReplayPlan({ address: MINT, min_pct: -101 });
    await expect(beyond).rejects.toMatchObject({
      name: 'FathomError',
      status: 400,
      code: 'invalid_parameter',
      parameter: 'min_pct',
      message: expect.stringContaining('answered 400: min_pct: expected') as string,
    });
    await expect(client.getDcaOrders({ token_address: EVM_ADDRESS })).rejects.toMatchObject({
      code: 'chain_not_supported',
      fields: { chain: 'evmchain', supported_chains: ['mainchain'] },
      requestId: expect.stringMatching(/^[0-9a-f]{12}-/) as string,
    });
    const enterprise = clientOf(service.server.url, { key: ENTERPRISE_KEY });
    const mixed = { addresses: [MINT, EVM_ADDRESS], chain: 'mainchain' as const };
    await expect(enterprise.postScore(mixed)).rejects.toMatchObject({
      code: 'chain_mismatch',
      fields: {
        chain: 'mainchain',
        resolved_chain: 'evmchain',
        address: EVM_ADDRESS,
        mismatched_addresses: [EVM_ADDRESS],
      },
    });
    await expect(client.getDcaPressure({ limit: 0 })).rejects.toMatchObject({ parameter: 'limit' });
    const wrong = clientOf(service.server.url, { key: 'wrong' });
    await expect(wrong.getUsage()).rejects.toMatchObject({ status: 401, code: null, fields: {} });
    // Nothing is sent, and nothing retried.
    const unsendable = clientOf(proxy.url, { key: 'fathom_–' });
    await expect(unsendable.getUsage()).rejects.toMatchObject({
      status: 401,
      message: 'key: expected an API key; this text has characters that keys never have',
    });
    proxy.script = () => answer(500, { error: 'no', error_code: 'damaged_data' });
    await expect(clientOf(proxy.url).getUsage()).rejects.toMatchObject({ code: 'damaged_data' });
    expect(proxy.requests.length).toBe(1);
    const noAddress = { name: 'FathomError', status: null, parameter: 'address' };
    await expect(clientOf(proxy.url).getCoverage({ address: '' })).rejects.toMatchObject(noAddress);
    await expect(all(clientOf(proxy.url).replay(''))).rejects.toMatchObject(noAddress);
    expect(proxy.requests.length).toBe(1);
    for (const url of ['ftp://x', '127.0.0.1:8080', 'localhost:8080', '']) {
      expect(() => clientOf(url)).toThrow(`url: expected an address such as http://127.0.0.1:8080`);
    }
    expect(() => clientOf(`${proxy.url}/api/v1/`)).toThrow('without /api/v1');
    proxy.script = () => hangUp;
    const once = clientOf(proxy.url, { retry: false });
    await expect(once.getUsage()).rejects.toMatchObject({ status: null });
  });

  it('ask from the first try on whether a server runs where none listens', async () => {
    const url = `http://127.0.0.1:${(await freePorts(1))[0]}`;
    const stop = new AbortController();
    const waits: string[] = [];
    const onWait = ({ message }: { message: string }): void => {
      waits.push(message);
      stop.abort();
    };
    const request = clientOf(url, { onWait }).getTokens({}, { signal: stop.signal });
    await expect(request).rejects.toThrow('aborted');
    expect(waits).toEqual([
      expect.stringMatching(
        /^no reply from http:\S+ \(connect ECONNREFUSED 127\S+; is a server running there\?\); trying again in/,
      ),
    ]);
  });

  it('are not retried if they cost more than the quota ever has', async () => {
    const refused = { error: 'Monthly quota exceeded: the request costs 9 calls' };
    proxy.script = (n) =>
      n < 3 ? answer(429, refused, n === 1 ? { 'x-request-id': 'r' } : {}) : null;
    const client = clientOf(proxy.url);
    await expect(client.getTopScores()).rejects.toMatchObject({ status: 429, requestId: 'r' });
    expect(proxy.requests.length).toBe(1);
    // The 429 of a proxy, which may not say how long to wait.
    await client.getTopScores();
    expect(proxy.requests.length).toBe(3);
  });

  it('wait together when a limit is reached', async () => {
    proxy.script = (n) => (n === 1 ? answer(429, { error: 'slow' }, { 'retry-after': '1' }) : null);
    const waits: string[] = [];
    let beganMs = Infinity;
    const onWait = ({ kind }: { kind: string }): void => {
      waits.push(kind);
      beganMs = performance.now();
    };
    const client = clientOf(proxy.url, { onWait });
    const first = client.getTopScores();
    await eventually('the first waits', () => waits.length > 0);
    await Promise.all([first, client.getTopScores()]);
    expect(performance.now() - beganMs).toBeGreaterThan(900);
    expect(waits).toEqual(['limited']);
    expect(proxy.requests.length).toBe(3);
  });

  it('go one at a time, in the order in which they were made, until a limit leaves room for all', async () => {
    const limits = [1, 2, 3, 4, 6];
    const answered: string[] = [];
    let inFlight = 0;
    let most = 0;
    proxy.script = (n) => {
      // The replies say how many requests are left.
      const headers = {
        'retry-after': n <= 4 ? '3' : '1',
        'x-ratelimit-remaining': n < 8 ? '0' : '9',
      };
      return limits.includes(n) ? answer(429, {}, headers) : answer(200, {}, headers);
    };
    const send = async (...[url, init]: Parameters<typeof fetch>) => {
      most = Math.max(most, ++inFlight);
      try {
        return await fetch(url, init);
      } finally {
        inFlight--;
      }
    };
    const client = clientOf(proxy.url, { fetch: send });
    const ask = async (name: string, signal?: AbortSignal) => {
      await client.getTokens({ query: name }, { signal });
      answered.push(name);
    };
    const aborted = new AbortController();
    const left = ask('d', aborted.signal);
    const asked = ['a', 'b', 'c'].map((name) => ask(name));
    await eventually('all are refused', () => proxy.requests.length === 4 && inFlight === 0);
    most = 0;
    aborted.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await Promise.all([...asked, ask('e')]);
    expect(answered).toEqual(['a', 'b', 'c', 'e']);
    // Of those that went alone, 'b' was refused once more.
    const names = proxy.requests.slice(4).map((path) => path.at(-1));
    expect(names).toEqual(['a', 'b', 'b', 'c', 'e']);
    expect(most).toBe(1);
  });
});

describe('replay', () => {
  it('yields the pages of the window in order, fetched in parallel by its plan', async () => {
    expect(pages.length).toBeGreaterThan(3);
    const fetched = await all(clientOf(proxy.url).replay(WIDE_MINT, WINDOW));
    expect(fetched.map(({ snapshots }) => snapshots)).toEqual(pages.map((page) => page.snapshots));
    expect(proxy.requests.filter((path) => path.includes('/plan?')).length).toBe(1);
    expect(proxy.requests.length).toBe(pages.length + 1);
    // A window of one page costs one request.
    proxy.requests.length = 0;
    expect((await all(clientOf(proxy.url).replay(MINT, WINDOW))).length).toBe(1);
    expect(proxy.requests.length).toBe(1);
  });

  it('also comes as Arrow, with snapshots and cells', async () => {
    const client = clientOf(service.server.url);
    const tables = await all(client.replayArrow(WIDE_MINT, WINDOW));
    expect(tables.map(({ table }) => table.numRows)).toEqual(pages.map((page) => page.row_count));
    expect(tables.map((page) => page.next_from)).toEqual(pages.map((page) => page.next_from));
    expect(tables[1].snapshots.map(({ t }) => t)).toEqual(pages[1].snapshots.map(({ t }) => t));
    const snapshots = await all(client.snapshots(MINT, { ...WINDOW, group: 'type' }));
    expect(snapshots.length).toBe(39);
    const [one] = snapshots;
    const cells = (await all(client.cells(MINT, { ...WINDOW, group: 'type' }))).filter(
      ({ t }) => t === one.t,
    );
    expect(cells.map(({ bin, slot }) => [bin, slot])).toEqual(
      one.bin.map((bin, i) => [bin, one.slots[one.index[i]]]),
    );
    expect(cells[0].binPriceUsd).toBeCloseTo(one.priceUsd * 1.01 ** one.bin[0], 12);
  });

  it('retries, and resumes where the last page ended', async () => {
    proxy.script = (n) =>
      n === 3 ? answer(503, BUSY, { 'retry-after': '0' }) : n === 4 ? hangUp : null;
    const waits: string[] = [];
    const client = clientOf(proxy.url, { onWait: ({ kind }) => waits.push(kind) });
    const got: ReplayPage[] = [];
    for await (const page of client.replay(WIDE_MINT, WINDOW)) {
      got.push(page);
      if (got.length === 2) break;
    }
    expect(waits.sort()).toEqual(['busy', 'connection']);
    const { next_from: from, window } = got[1];
    const rest = await all(client.replay(WIDE_MINT, { from: from ?? 0, to: window.to }));
    expectSame(
      [...got, ...rest].map(({ snapshots }) => snapshots),
      pages.map(({ snapshots }) => snapshots),
    );
  });

  it('plans again when data has changed since the plan', async () => {
    const planned = pages.map(({ window }) => window.from);
    proxy.script = (n) => {
      if (n !== 2) return null;
      // Every page after the second would begin a snapshot too late.
      const late = planned.slice(1).map((from, i) => ({ from: from + (i > 0 ? 60 : 0) }));
      return answer(200, { pages: late });
    };
    const fetched = await all(clientOf(proxy.url).replay(WIDE_MINT, WINDOW));
    expect(fetched.flatMap(({ snapshots }) => snapshots.map(({ t }) => t))).toEqual(
      pages.flatMap(({ snapshots }) => snapshots.map(({ t }) => t)),
    );
    expect(proxy.requests.filter((path) => path.includes('/plan?')).length).toBe(2);
  });

  it('fails when the server makes no progress', async () => {
    const [first] = pages;
    const later = pages.slice(1).map(({ window }) => ({ from: window.from }));
    proxy.script = (n) => {
      if (n === 1) return null;
      if (n > 12) return hangUp;
      const isPlan = proxy.requests.at(-1)?.includes('/plan?');
      return answer(200, isPlan ? { pages: later } : first);
    };
    await expect(all(clientOf(proxy.url).replay(WIDE_MINT, WINDOW))).rejects.toThrow(
      /makes no progress: its next page is \d+ again/,
    );
  });

  it('fetches page after page from a server without plans', async () => {
    proxy.script = () => (res, pass) => {
      const path = proxy.requests.at(-1) ?? '';
      if (path.includes('/plan?')) answer(404, { error: 'Not Found' })(res, pass);
      else pass();
    };
    const fetched = await all(clientOf(proxy.url).replay(WIDE_MINT, WINDOW));
    expect(fetched.length).toBe(pages.length);
  });

  it.each<[string, () => Promise<Response>]>([
    ['reply', () => new Promise(() => undefined)],
    [
      'rest of a body',
      () => {
        const begun = new ReadableStream({ start: (body) => body.enqueue(new Uint8Array(9)) });
        return Promise.resolve(new Response(begun));
      },
    ],
  ])('stops when it is aborted, even if fetch keeps waiting for the %s', async (_, never) => {
    const stop = new AbortController();
    let started = (): void => undefined;
    const requested = new Promise<void>((resolve) => (started = resolve));
    const client = clientOf(proxy.url, {
      fetch: () => {
        started();
        return never();
      },
    });
    const next = client.replay(MINT, WINDOW, { signal: stop.signal }).next();
    await requested;
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
  });

  it('checks digests, and stops when it is aborted', async () => {
    const client = clientOf(proxy.url);
    const checked = client.replay(MINT, WINDOW, { checkDigest: true });
    expect((await all(checked)).length).toBe(1);
    proxy.script = () =>
      answer(200, {}, { 'repr-digest': 'sha-256=:AAAA:', 'x-request-id': 'q-1' });
    await expect(all(client.replay(MINT, WINDOW, { checkDigest: true }))).rejects.toMatchObject({
      message: expect.stringMatching(/digest does not match/),
      requestId: 'q-1',
    });
    expect(() => client.replay(MINT, WINDOW, { ahead: 17 })).toThrow(/ahead: expected/);
    // Aborted while the loop's body runs: pages fetched in the meantime are not yielded.
    const between = new AbortController();
    const loop = client.replay(WIDE_MINT, WINDOW, { signal: between.signal });
    proxy.script = () => null;
    await loop.next();
    await loop.next();
    await eventually('the next pages are asked for', () => proxy.requests.length >= 5);
    for (let i = 0; i < 3; i++) await client.getUsage();
    between.abort(new Error('enough'));
    await expect(loop.next()).rejects.toThrow('enough');
    const stop = new AbortController();
    proxy.script = () => () => stop.abort(new Error('enough'));
    await expect(all(client.replay(MINT, WINDOW, { signal: stop.signal }))).rejects.toThrow(
      'enough',
    );
  });
});
