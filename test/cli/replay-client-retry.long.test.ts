import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FathomError } from '../../client/index.js';
import { backoffMs, Retries, RETRY_LIMITS, retryAfterMs } from '../../client/retries.js';
import type { RemotePage } from '../../server/download/page.js';
import { ReplayError } from '../../server/download/request.js';
import { temporaryDirectory } from '../support/folders.js';
import { answer, cutShort, hangUp, type Instead } from '../support/replay-proxy.js';
import { MINT, ProxiedMarket, replayHere, WHOLE } from './replay-client-support.js';

const BUSY = { error: 'Service Unavailable', message: 'busy', error_code: 'replay_busy' };

const ours = new ProxiedMarket();
let out: string;
let expected: Buffer;

beforeAll(async () => {
  const file = path.join(temporaryDirectory(), 'expected.csv');
  const { key, server } = ours.market;
  await replayHere([MINT, '--out', file, ...WHOLE], { FATHOM_KEY: key, FATHOM_URL: server.url });
  expected = readFileSync(file);
});
beforeEach(() => {
  out = ours.at('out.csv');
});

const run = (words: readonly string[] = []) => ours.run(out, [...WHOLE, '--ahead', '1', ...words]);

/** Answers the requests with these numbers in place of the server. */
function script(instead: Record<number, Instead>): void {
  ours.proxy.script = (n) => instead[n] ?? null;
}

describe('a page is requested again', () => {
  it('while replay is busy, after Retry-After', async () => {
    const requestedAtMs: number[] = [];
    ours.proxy.script = (n) => {
      requestedAtMs.push(performance.now());
      return [2, 3, 5].includes(n) ? answer(503, BUSY, { 'retry-after': '1' }) : null;
    };
    expect(await run()).toMatchObject({ error: null });
    expect(readFileSync(out).equals(expected)).toBe(true);
    for (const busy of [1, 2, 4])
      expect(requestedAtMs[busy + 1] - requestedAtMs[busy]).toBeGreaterThan(950);
    expect(ours.proxy.requests[1]).toBe(ours.proxy.requests[2]);
    expect(ours.proxy.requests[4]).toBe(ours.proxy.requests[5]);
    expect(ours.proxy.lastHeaders['accept-encoding']).toBe('br, gzip');
  });

  it('when the rate limit allows', async () => {
    const limited = answer(429, { error: 'Rate limit exceeded' }, { 'retry-after': '1' });
    script({ 3: limited });
    expect(await run()).toMatchObject({ error: null });
    expect(readFileSync(out).equals(expected)).toBe(true);
  });

  it('after connections that broke and gateways that failed', async () => {
    script({ 1: hangUp, 3: cutShort, 5: answer(502, {}), 7: answer(500, { error: 'oops' }) });
    const ended = await run();
    expect(ended.error).toBeNull();
    expect(ended.stderr.match(/trying again/g)).toHaveLength(4);
    expect(readFileSync(out).equals(expected)).toBe(true);
  });
});

describe('a page is given up', () => {
  it.each([
    [
      'a wait beyond every bound, such as a spent quota’s',
      answer(
        429,
        { error: 'Monthly quota exceeded, retry in 86400 seconds' },
        { 'retry-after': '86400' },
      ),
      /answered 429: Monthly quota exceeded.*gave up: the next wait would be 864\d\d s.*3 pages are kept/,
    ],
    [
      'another refusal',
      answer(403, { error: 'Not with this plan' }),
      /answered 403: Not with this/,
    ],
    [
      'a redirect',
      answer(302, {}, { location: 'http://elsewhere/' }),
      /answered 302: redirected to/,
    ],
    [
      'a page that is none',
      answer(200, {}),
      /did not reply with a replay page: token: expected a value/,
    ],
    ['control characters', answer(400, { error: 'a\u001b[2Jb' }), /answered 400: a \[2Jb;/],
  ])('%s', async (_, instead, reason) => {
    script({ 4: instead });
    const { error } = await run();
    expect(error).toBeInstanceOf(ReplayError);
    expect(error?.message).toMatch(reason);
    expect(existsSync(out)).toBe(false);
    ours.proxy.script = () => null;
    expect(await run()).toMatchObject({ error: null });
    expect(readFileSync(out).equals(expected)).toBe(true);
  });

  it('a server that serves another store in between', async () => {
    const changed =
      (change: (page: RemotePage) => void): Instead =>
      (res) => {
        const [, , , path4] = ours.proxy.requests;
        void ours.market.server
          .get(path4.replace('/api/v1', ''), ours.market.key)
          .then(async (reply) => {
            const page = (await reply.json()) as RemotePage;
            change(page);
            res.end(JSON.stringify(page));
          });
      };
    for (const [change, reason] of [
      [(page) => (page.markets[0].source = 'Else'), /data changed between two pages: its list/],
      [(page) => (page.snapshots[0].t -= 86_400), /the snapshot at \d+ comes after/],
      [(page) => (page.window.from += 60), /no longer serves/],
      [(page) => (page.next_from = page.window.from), /continues from \d+, outside/],
      [(page) => page.snapshots[3].bin.pop(), /snapshots\[3\]\.support_usd: expected \d+ numbers/],
      [
        (page) => ((page.snapshots[1].market_idx as number[])[0] = 99),
        /market_idx: expected \d+ indexes below/,
      ],
    ] as [(page: RemotePage) => void, RegExp][]) {
      ours.proxy.requests.length = 0;
      script({ 4: changed(change) });
      const { error } = await run(['--restart']);
      expect(error?.message).toMatch(reason);
    }
  });
});

const NO = new FathomError('no', { status: 503 });

describe('tries and waits are bounded', () => {
  it.each(['busy', 'limited', 'connection'] as const)('%s', (kind) => {
    const { maxTries, maxWaitMs } = RETRY_LIMITS[kind];
    const tries = new Retries();
    for (let n = 1; n < maxTries; n++) tries.next(kind, 0, NO);
    expect(() => tries.next(kind, 0, NO)).toThrow(`no; gave up after ${maxTries} tries`);
    const waits = new Retries();
    expect(waits.next(kind, maxWaitMs / 2, NO)).toBeGreaterThanOrEqual(maxWaitMs / 2);
    expect(() => waits.next(kind, maxWaitMs, NO)).toThrow(/gave up: having waited/);
  });

  it('waits double where the server names none', () => {
    const tries = new Retries();
    const waits = Array.from({ length: 8 }, () => tries.next('connection', null, NO));
    [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000].forEach((ms, n) => {
      expect(waits[n]).toBeGreaterThanOrEqual(ms);
      expect(waits[n]).toBeLessThanOrEqual(1.5 * ms);
    });
    expect(backoffMs(null, 5000)).toBeLessThanOrEqual(15_000);
  });

  it('waits of clients that failed together differ', () => {
    for (const askedMs of [null, 2000]) {
      const waits = Array.from({ length: 20 }, () => backoffMs(askedMs, 3));
      expect(new Set(waits).size).toBeGreaterThan(1);
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(askedMs ?? 2000);
      expect(Math.max(...waits)).toBeLessThanOrEqual(askedMs === null ? 3000 : askedMs + 100);
    }
  });

  it('Retry-After is seconds or a date', () => {
    const nowMs = Date.parse('2026-11-01T00:00:00Z');
    expect(retryAfterMs(new Headers({ 'retry-after': '7' }), nowMs)).toBe(7000);
    expect(
      retryAfterMs(new Headers({ 'retry-after': 'Sun, 01 Nov 2026 00:01:00 GMT' }), nowMs),
    ).toBe(60_000);
    expect(
      retryAfterMs(new Headers({ 'retry-after': 'Sat, 31 Oct 2026 00:00:00 GMT' }), nowMs),
    ).toBe(0);
    expect(retryAfterMs(new Headers({}), nowMs)).toBeNull();
    expect(retryAfterMs(new Headers({ 'retry-after': 'soon' }), nowMs)).toBeNull();
  });
});
