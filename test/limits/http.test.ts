import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { RunningServer } from '../../server/app.js';
import { startService } from '../../server/service.js';
import { onStore } from '../../server/cli/runtime.js';
import { NO_LOGGER } from '../support/logger.js';
import { settingsOf } from '../support/settings.js';
import { DEFAULT_PLANS, parsePlans } from '../../server/limits/plans.js';
import type { IssuedKey, KeyRequest } from '../../storage/contract.js';
import { temporaryDirectory } from '../support/folders.js';
import { checkedFetch } from '../support/conformance.js';
import { becomes } from '../support/waiting.js';

const MINT = 'So11111111111111111111111111111111111111112';
const LIMIT_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-quota-limit',
  'x-quota-used',
  'x-quota-remaining',
  'x-quota-reset',
];
const ALL_HEADERS = [...LIMIT_HEADERS, 'x-api-tier', 'ratelimit', 'ratelimit-policy'];

const directory = temporaryDirectory();
let server: RunningServer;

beforeAll(() => {
  // No test runs past midnight.
  const noonMs = new Date().setUTCHours(12, 0, 0, 0);
  vi.useFakeTimers({ toFake: ['Date'], now: noonMs });
  return start();
});
afterAll(async () => {
  vi.useRealTimers();
  await server.close();
});

async function start({ asOfS = null as number | null, plans = DEFAULT_PLANS } = {}) {
  const words = ['--data', directory, '--host', '127.0.0.1', '--port', '0', '--threads', '1'];
  server = await startService({ ...settingsOf(words), asOfS, plans }, NO_LOGGER);
}
async function restart(options: Parameters<typeof start>[0] = {}) {
  await server.close();
  await start(options);
}

/** Like `fathom keys create`, through the running server. */
const createKey = (fields: Partial<KeyRequest> = {}): Promise<IssuedKey> =>
  onStore({ data: directory }, (store) => store.createKey({ tier: 'premium', ...fields }));
const get = (key: string, target = `/replay/${MINT}`, init: RequestInit = {}) =>
  checkedFetch(`${server.url}/api/v1${target}`, {
    ...init,
    headers: { 'x-api-key': key, ...(init.headers as Record<string, string>) },
  });
const numbers = ({ headers }: Response) =>
  Object.fromEntries(LIMIT_HEADERS.map((name) => [name, Number(headers.get(name))]));

it('replies to a live key have every header, whatever their status', async () => {
  const { key } = await createKey({ requestsPerMinute: 1000 });
  const past = `/replay/${MINT}?from=1700000000&to=1700000600`;
  // A window that ends more than a year ago is refused; this one is a day old.
  const dayS = Math.floor(Date.now() / 1000) - 86_400;
  const settled = `/replay/${MINT}?from=${dayS - 600}&to=${dayS}`;
  const etag = (await get(key, settled)).headers.get('etag') ?? '';
  const replies: [number, string, RequestInit?][] = [
    [200, `/replay/${MINT}`],
    [200, `/replay/${MINT}`, { method: 'HEAD' }],
    [304, settled, { headers: { 'if-none-match': etag } }],
    [400, past],
    [400, '/replay/nonsense'],
    [400, `/replay/${MINT}?group=x`],
    [404, '/no-such-endpoint'],
    [405, `/replay/${MINT}`, { method: 'DELETE' }],
    [406, `/replay/${MINT}`, { headers: { accept: 'image/png' } }],
  ];
  let charged = 1;
  for (const [status, target, init] of replies) {
    const response = await get(key, target, init);
    await response.arrayBuffer();
    expect([target, response.status]).toEqual([target, status]);
    for (const name of ALL_HEADERS) {
      expect([target, name, response.headers.get(name)]).not.toEqual([target, name, null]);
    }
    if (status === 200) charged++;
    expect([target, numbers(response)['x-quota-used']]).toEqual([target, charged]);
  }
  const last = await get(key);
  expect(numbers(last)).toMatchObject({
    'x-ratelimit-limit': 1000,
    'x-quota-limit': 100_000,
    'x-quota-used': charged + 1,
    'x-quota-remaining': 100_000 - charged - 1,
  });
  const nowS = Date.now() / 1000;
  const { 'x-ratelimit-reset': full, 'x-quota-reset': month } = numbers(last);
  expect(full).toBeGreaterThanOrEqual(Math.floor(nowS));
  expect(full).toBeLessThanOrEqual(nowS + 2);
  const next = new Date(month * 1000);
  expect(next.toISOString()).toMatch(/-01T00:00:00.000Z$/);
  expect(month - nowS).toBeLessThanOrEqual(31 * 86_400);
  expect(last.headers.get('ratelimit-policy')).toBe('"general";q=1000;w=60');
  expect(last.headers.get('ratelimit')).toMatch(/^"general";r=(9\d\d|1000);t=[01]$/);
  expect(last.headers.get('x-api-tier')).toBe('premium');
});

it('the monthly quota lets exactly that many parallel calls succeed, and survives a restart', async () => {
  const { key, id } = await createKey({ requestsPerMinute: Infinity, monthlyQuota: 100 });
  const replies = await Promise.all(Array.from({ length: 200 }, () => get(key)));
  // Calls that were delayed by calls in progress are repeated until the quota is used up.
  let succeeded = replies.filter(({ status }) => status === 200);
  for (let i = 0; i < 200 && succeeded.length < 100; i++) {
    const reply = await get(key);
    if (reply.status === 200) succeeded = [...succeeded, reply];
  }
  const used = succeeded.map((reply) => numbers(reply)['x-quota-used']).sort((a, b) => a - b);
  expect(used).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  const others = replies.filter(({ status }) => status !== 200).map(({ status }) => status);
  expect(others.every((status) => status === 429 || status === 503)).toBe(true);
  const spent = await get(key);
  expect(spent.status).toBe(429);
  expect(await spent.json()).toEqual({
    error: `Monthly quota exceeded: retry in ${spent.headers.get('retry-after')} seconds`,
  });
  await restart();
  const after = await get(key);
  expect([after.status, numbers(after)['x-quota-used']]).toEqual([429, 100]);
  // A rotated key is the same key: its usage remains.
  const { key: rotated } = await onStore({ data: directory }, (store) => store.rotateKey(id));
  expect((await get(key)).status).toBe(401);
  expect(numbers(await get(rotated))).toMatchObject({ 'x-quota-used': 100 });
});

it('GET /usage reports the key’s usage, by day and endpoint, and costs nothing', async () => {
  const { key } = await createKey({ requestsPerMinute: Infinity, monthlyQuota: 5 });
  const { key: other } = await createKey({ requestsPerMinute: Infinity });
  const usage = async (of: string) => (await (await get(of, '/usage')).json()) as object;
  const monthEnd = numbers(await get(other))['x-quota-reset'];
  expect(await usage(key)).toMatchObject({ used: 0, remaining: 5, days: [], endpoints: [] });
  for (const target of ['/top-scores', `/score/${MINT}`, `/score/${MINT}`]) await get(key, target);
  // Not charged: an invalid request.
  await get(key, '/score/nonsense');
  const date = new Date().toISOString().slice(0, 10);
  const want = {
    tier: 'premium',
    month: date.slice(0, 7),
    used: 3,
    limit: 5,
    remaining: 2,
    resets_at: monthEnd,
    days: [{ date, requests: 3 }],
    endpoints: [
      { endpoint: 'GET /score/:address', requests: 2 },
      { endpoint: 'GET /top-scores', requests: 1 },
    ],
  };
  expect(await usage(key)).toEqual(want);
  await restart();
  expect(await usage(key)).toEqual(want);
  for (let i = 0; i < 2; i++) await get(key);
  expect((await get(key)).status).toBe(429);
  expect(await usage(key)).toMatchObject({ used: 5, remaining: 0 });
  expect((await get(key, '/usage?month=1')).status).toBe(400);
  expect((await get('', '/usage')).status).toBe(401);
});

it('a running service applies limits by the system clock if its own is frozen', async () => {
  // A request returns after two seconds.
  const text = '{"premium":{"rates":{"general":{"requests":4,"seconds":8}}}}';
  await restart({ asOfS: 1_700_000_000, plans: parsePlans(text, 'plans') });
  const { key } = await createKey();
  const { 'x-ratelimit-reset': reset, 'x-quota-reset': month } = numbers(await get(key));
  const nowS = Date.now() / 1000;
  expect(Math.abs(reset - nowS)).toBeLessThan(10);
  expect(month).toBeGreaterThan(nowS);
  const status = async () => (await get(key)).status;
  await becomes(status, 429);
  await becomes(status, 200);
});
