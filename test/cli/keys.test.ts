/** `fathom keys`, with the server stopped and running. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fathom, fathomProcess, serveHere, withStoreOf, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import type { Json } from '../support/tables.js';
import { becomes } from '../support/waiting.js';

const MINT = 'So11111111111111111111111111111111111111112';

const data = path.join(temporaryDirectory(), 'data');
const keys = (...words: string[]) => fathom(['keys', ...words, '--data', data]);

/** The JSON document of a command that must succeed. */
async function json(...words: string[]): Promise<Json> {
  const ended = await keys(...words, '--json');
  expect([ended.status, ended.stderr]).toEqual([0, '']);
  expect(ended.stdout.trim().split('\n')).toHaveLength(1);
  return JSON.parse(ended.stdout) as Json;
}

let first: Json;
let second: Json;

beforeAll(async () => {
  await withStoreOf(data, () => Promise.resolve());
  first = await json('create', '--tier', 'premium', '--name', 'Ann “A”', '--rpm', '7');
  second = await json('create', '--tier', 'enterprise', '--rpm', 'unlimited', '--quota', '5000');
});

describe('a directory without a store', () => {
  it.each([['list'], ['rotate', 'key_x'], ['revoke', 'key_x']])(
    'is refused by %s, and not made',
    async (...words) => {
      const missing = path.join(temporaryDirectory(), 'dtaa');
      const ended = await fathom(['keys', ...words, '--data', missing]);
      expect([ended.status, ended.stdout]).toEqual([1, '']);
      expect(ended.stderr).toBe(
        `${missing} holds no store; is --data right? (ingest, import, demo, keys create and serve create one)\n`,
      );
      expect(existsSync(missing)).toBe(false);
    },
  );

  it('gets one by create, which says so', async () => {
    const missing = path.join(temporaryDirectory(), 'new');
    const made = await fathom(['keys', 'create', '--tier', 'premium', '--json', '--data', missing]);
    expect(made.stderr).toBe(`${missing} held no store; created a new, empty one\n`);
    expect((await fathom(['keys', 'list', '--data', missing])).status).toBe(0);
  });

  it.runIf(process.platform === 'linux')(
    'is an error where the system makes no directories',
    async () => {
      const ended = await fathom(['keys', 'create', '--tier', 'premium', '--data', '/proc/fathom']);
      expect([ended.status, ended.stderr]).toEqual([
        1,
        '/proc/fathom: no directory can be made there\n',
      ]);
    },
  );
});

describe('with the server stopped', () => {
  it('create prints the key once, with its plan and limits', () => {
    expect(first).toEqual({
      id: expect.stringMatching(/^key_[0-9a-f]{16}$/),
      key: expect.stringMatching(/^\S{20,}$/),
      name: 'Ann “A”',
      tier: 'premium',
      hint: expect.any(String),
      rpm: 7,
      quota: null,
      created_at: expect.any(Number),
      revoked_at: null,
      expires_at: null,
      old_text_until: null,
    });
    expect(Math.abs(first.created_at - Date.now() / 1000)).toBeLessThan(300);
    expect(second).toMatchObject({ name: null, tier: 'enterprise', rpm: 'unlimited', quota: 5000 });
    expect(second.key).not.toBe(first.key);
  });

  it('create prints nothing but the key on stdout for people', async () => {
    const ended = await fathomProcess(['keys', 'create', '--tier', 'premium', '--data', data]);
    expect(ended.status).toBe(0);
    expect(ended.stdout).toMatch(/^\S{20,}\n$/);
    expect(ended.stderr).toContain('shown this once');
    expect(ended.stderr).not.toContain(ended.stdout.trim());
  });

  it('create takes a name that looks like a flag', async () => {
    const own = path.join(temporaryDirectory(), 'data');
    for (const words of [['--name', '-h'], ['--name=-h'], ['--name=--help'], ['--name', '-V']]) {
      const made = await fathom([
        'keys',
        'create',
        '--tier',
        'premium',
        ...words,
        '--json',
        '--data',
        own,
      ]);
      expect(made.status).toBe(0);
      expect(JSON.parse(made.stdout)).toMatchObject({ name: words.at(-1)?.replace('--name=', '') });
    }
  });

  it('list shows every key without its text, which is stored nowhere', async () => {
    const listed = (await json('list')) as Json[];
    const { key: text, ...shown } = first;
    const whales = { 'whale-get': 60, 'whale-post': 6 };
    const limits = { minute: { general: 7, ...whales }, month: 100_000, connections: 10 };
    expect(listed.find(({ id }) => id === first.id)).toEqual({
      ...shown,
      limits,
      last_used_at: null,
    });
    expect(listed.find(({ id }) => id === second.id)).toMatchObject({
      limits: { minute: { general: null, ...whales }, month: 5000, connections: 100 },
    });
    expect(listed.map((one) => one.limits)).toContainEqual({
      minute: { general: 12, 'market-depth': 60, 'dca-pressure': 6, ...whales },
      month: 100_000,
      connections: 10,
    });
    expect(JSON.stringify(listed)).not.toContain(text);
    const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(3);
    for (const { name, parentPath } of files) {
      const isThere = readFileSync(path.join(parentPath, name)).includes(text as string);
      expect([name, isThere]).toEqual([name, false]);
    }
  });

  it('list shows people the limits, expiry and last use', async () => {
    const { stdout } = await keys('list');
    const [headings, ...rows] = stdout.trim().split('\n');
    expect(headings.split(/ {2,}/)).toEqual([
      'ID',
      'PLAN',
      'KEY',
      'STATE',
      'A MINUTE',
      'A MONTH',
      'CREATED',
      'EXPIRES',
      'LAST USED',
      'NAME',
    ]);
    const row = rows.find((line) => line.startsWith(second.id as string)) ?? '';
    expect(row.split(/ {2,}/).slice(3)).toEqual([
      'valid',
      'unlimited, whale-get 60, whale-post 6',
      '5000',
      expect.stringMatching(/Z$/),
      'never',
      '-',
      '-',
    ]);
    expect(rows.find((line) => line.endsWith('Ann “A”'))).toMatch(
      / 7, whale-get 60, whale-post 6 +100000 /,
    );
    expect(stdout).toContain(
      ' 12, market-depth 60, dca-pressure 6, whale-get 60, whale-post 6  100000 ',
    );
  });

  it('a name can replace an id if no other live key has it', async () => {
    const made = await json('create', '--tier', 'premium', '--name', 'twin');
    expect(await json('update', 'twin', '--rpm', '5')).toMatchObject({ id: made.id, rpm: 5 });
    const twin = await keys('create', '--tier', 'premium', '--name', 'twin', '--json');
    expect(twin.stderr).toBe('warning: another key has the name twin: change either by its id\n');
    const other = JSON.parse(twin.stdout) as Json;
    const { status, stderr } = await keys('rotate', 'twin');
    expect(status).toBe(1);
    expect(stderr).toContain('2 keys have the name twin: use an id (');
    await json('revoke', made.id);
    expect(await json('revoke', 'twin')).toMatchObject({ id: other.id });
  });

  it('a key may expire some time from now', async () => {
    const monthS = 30 * 86_400;
    const fromS = Math.floor(Date.now() / 1000);
    const made = await json('create', '--tier', 'premium', '--expires', '+30d');
    expect(made.expires_at).toBeGreaterThanOrEqual(fromS + monthS);
    expect(made.expires_at).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + monthS);
  });

  it('update changes only the given terms', async () => {
    const words = ['--rpm', '9', '--quota', '90', '--expires', '2100-01-01', '--name', 'before'];
    const made = await json('create', '--tier', 'premium', ...words);
    const { key, ...shown } = made;
    expect(shown).toMatchObject({ rpm: 9, quota: 90, expires_at: Date.UTC(2100, 0) / 1000 });
    expect(await json('update', made.id, '--name', 'after')).toEqual({ ...shown, name: 'after' });
    const changed = await json(
      ...['update', 'after', '--tier', 'enterprise', '--rpm', 'default', '--quota', 'none'],
      ...['--expires', 'never'],
    );
    const now = { tier: 'enterprise', rpm: null, quota: 'unlimited', expires_at: null };
    expect(changed).toEqual({ ...shown, name: 'after', ...now });
    expect(await json('update', 'after', '--quota', 'default')).toMatchObject({ quota: null });
    await withStoreOf(data, (store) => {
      expect(store.keys.verify(key as string)).toMatchObject({ tier: 'enterprise', name: 'after' });
      return Promise.resolve();
    });
    await json('revoke', 'after');
    expect((await keys('update', 'after', '--rpm', '1')).status).toBe(1);
  });

  it("a key may have an operator's plan from the configuration", async () => {
    const plans = JSON.stringify({ gold: { tier: 'premium', rpm: 300 } });
    const words = ['keys', 'create', '--tier', 'gold', '--json', '--data', data];
    const made = await fathom(words, { FATHOM_PLANS: plans });
    expect(JSON.parse(made.stdout)).toMatchObject({ tier: 'gold', rpm: null });
    expect(await fathom(words)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(
        '--tier: expected premium or enterprise, not gold: no other plan is configured',
      ),
    });
    const without = words.filter((word) => word !== '--tier' && word !== 'gold');
    expect((await fathom(without, { FATHOM_PLANS: plans })).stderr).toMatch(
      /^fathom: --tier: expected one of premium, enterprise, gold$/m,
    );
    // A fault elsewhere in the configuration does not concern this command.
    const env = { FATHOM_PLANS: plans, FATHOM_PORT: 'none' };
    expect((await fathom(words, env)).status).toBe(0);
  });

  const wrong: [string[], RegExp][] = [
    [['sell'], /^keys: expected create, list, update, rotate or revoke, not sell$/],
    [['create'], /^--tier: expected premium or enterprise$/],
    [
      ['create', '--tier', 'gold'],
      /^--tier: expected premium or enterprise, not gold: no other plan is configured$/,
    ],
    [
      ['create', '--tier', 'premium', '--rpm', '0'],
      /^--rpm: expected a whole number from 1 to \d+, or unlimited, not 0$/,
    ],
    [['create', '--tier', 'premium', '--rpm', '1.5'], /^--rpm: expected a whole number/],
    [['create', '--tier', 'premium', '--quota=-1'], /^--quota: expected a whole number/],
    [
      ['create', '--tier', 'premium', '--name', ''],
      /^--name: expected a value, not an empty text$/,
    ],
    [
      ['create', '--tier', 'premium', '--name', ' \t'],
      /^--name: expected 1 to 100 characters on one line$/,
    ],
    [['update', 'x', '--name', 'a\nb'], /^--name: expected 1 to 100 characters on one line$/],
    [['update', 'x', '--name', '\u001b[31mred'], /^--name: expected 1 to 100 characters on one/],
    [['update', 'x', '--name', 'key_0ddfeb50b54c5711'], /^--name: expected a name, not the id of/],
    [['list', '--data', ''], /^--data: expected a value, not an empty text$/],
    [['list', 'extra'], /^unexpected extra: expected only flags$/],
    [['revoke'], /^KEY: expected one$/],
    [['update', 'x'], /^expected at least one of --name, --tier, --rpm, --quota, --expires$/],
    [['update', 'x', '--rpm', 'none'], /^--rpm: .*, default or unlimited, not none$/],
    [['update', 'x', '--quota', '0'], /^--quota: .*, default or none, not 0$/],
    [['update', 'x', '--expires', '-1h'], /^--expires: expected a time in the future, not -1h/],
    [
      ['create', '--tier', 'premium', '--expires', 'soon'],
      /^--expires: expected epoch seconds, RFC 3339 with a zone, a date, or a time from now such as \+30d$/,
    ],
    [['update', 'x', '--expires', '+1y'], /^--expires: expected a duration from 1s to 3650d/],
    [['create', '--tier', 'premium', '--expires', 'never'], /^--expires: expected epoch seconds/],
    [['rotate', 'x', '--overlap', '91d'], /^--overlap: expected a duration from 1s to 90d/],
    [['rotate', 'a', 'b'], /^unexpected b: expected only KEY, flags$/],
  ];

  it.each(wrong)('%j is wrong usage', async (words, expected) => {
    const { status, stderr } = await fathom(['keys', ...words]);
    expect(status).toBe(2);
    expect(stderr.split('\n')[0].replace('fathom: ', '')).toMatch(expected);
  });

  it('wrong usage and unknown ids have different statuses', async () => {
    const usage = await keys('create', '--json');
    expect([usage.status, JSON.parse(usage.stdout)]).toEqual([
      2,
      { error: '--tier: expected premium or enterprise' },
    ]);
    const unknown = await keys('revoke', 'key_none', '--json');
    expect([unknown.status, unknown.stderr]).toEqual([
      1,
      'no key has the id or the name key_none\n',
    ]);
    expect(JSON.parse(unknown.stdout)).toMatchObject({
      error: 'no key has the id or the name key_none',
    });
  });
});

describe('with the server running', () => {
  let server: Service;
  beforeAll(async () => {
    server = await serveHere(data);
  });

  /** How the server sees a key: its tier, or null if it refuses the key. */
  const tierOf = async (key: string) => {
    const response = await server.get(`/replay/${MINT}?group=all`, key);
    await response.arrayBuffer();
    return response.status === 401 ? null : response.headers.get('x-api-tier');
  };

  it('keys made before and after its start work', async () => {
    expect(await tierOf(first.key)).toBe('premium');
    const late = await json('create', '--tier', 'enterprise');
    await becomes(() => tierOf(late.key), 'enterprise');
    expect(await tierOf('nonsense')).toBeNull();
  });

  it('rotate gives the key a new text, and the old one ends', async () => {
    const rotated = await json('rotate', first.id);
    const { id, name, tier, rpm, quota, created_at } = first;
    expect(rotated).toMatchObject({ id, name, tier, rpm, quota, created_at, revoked_at: null });
    expect(rotated.key).not.toBe(first.key);
    await becomes(() => tierOf(first.key), null);
    expect(await tierOf(rotated.key)).toBe('premium');
  });

  it('rotate --overlap keeps the old text valid for that long', async () => {
    const made = await json('create', '--tier', 'premium', '--name', 'slow client');
    const rotated = await json('rotate', 'slow client', '--overlap', '24h');
    const untilS = rotated.old_text_until as number;
    expect(Math.abs(untilS - Date.now() / 1000 - 86_400)).toBeLessThan(300);
    expect([await tierOf(made.key), await tierOf(rotated.key)]).toEqual(['premium', 'premium']);
    const again = await keys('rotate', 'slow client', '--overlap', '1h');
    expect([again.status, again.stderr]).toEqual([
      1,
      expect.stringContaining('an earlier text of the key'),
    ]);
    const last = await json('rotate', 'slow client');
    expect(last.old_text_until).toBeNull();
    const texts = [made.key, rotated.key, last.key] as string[];
    expect(await Promise.all(texts.map(tierOf))).toEqual([null, null, 'premium']);
    await json('rotate', 'slow client', '--overlap', '1h');
    await json('revoke', 'slow client');
    expect(await tierOf(last.key)).toBeNull();
  });

  it('an expired key is refused, in words and with a code, until it is given more time', async () => {
    let atS = 0;
    const create = (aheadS: number) => {
      atS = Math.ceil(Date.now() / 1000) + aheadS;
      return keys('create', '--tier', 'premium', '--expires', String(atS), '--json');
    };
    let created = await create(1);
    // It is refused if the time has passed when the command reads it.
    for (let aheadS = 2; created.status === 2 && aheadS < 100; aheadS *= 2) {
      created = await create(aheadS);
    }
    expect([created.status, created.stderr]).toEqual([0, '']);
    const made = JSON.parse(created.stdout) as Json;
    await becomes(() => tierOf(made.key), null);
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(atS);
    const refused = await server.get('/usage', made.key);
    expect([refused.status, await refused.json()]).toEqual([
      401,
      { error: expect.stringContaining('expired at '), error_code: 'key_expired' },
    ]);
    expect((await keys('list')).stdout).toContain('expired');
    await json('update', made.id, '--expires', 'never');
    expect(await tierOf(made.key)).toBe('premium');
  });

  it('keys have plans of the operator, with the tier of the plan in every reply', async () => {
    const rates = { 'whale-get': { requests: 1, seconds: 3600 } };
    const gold = { tier: 'premium', rpm: 77, quota: 1000, rates };
    const other = path.join(temporaryDirectory(), 'gold');
    const config = { FATHOM_PLANS: JSON.stringify({ gold, free: { tier: 'enterprise' } }) };
    let serving = await serveHere(other, [], config);
    // The server's plans count, not those of the command's environment.
    const made = await fathom(['keys', 'create', '--tier', 'gold', '--json', '--data', other]);
    const { key } = JSON.parse(made.stdout) as Json;
    const usage = await serving.get('/usage', key as string);
    expect(usage.headers.get('x-api-tier')).toBe('premium');
    expect(usage.headers.get('x-ratelimit-limit')).toBe('77');
    expect(await usage.json()).toMatchObject({ tier: 'premium', limit: 1000 });
    const listed = async () =>
      JSON.parse((await fathom(['keys', 'list', '--json', '--data', other])).stdout) as Json[];
    expect(await listed()).toMatchObject([
      { limits: { minute: { general: 77, 'whale-get': 1 / 60 }, month: 1000, connections: 10 } },
    ]);
    expect((await fathom(['keys', 'list', '--data', other])).stdout).toContain(
      ' 77, whale-get 0.01667, whale-post 6  1000 ',
    );
    const silver = await fathom(['keys', 'create', '--tier', 'silver', '--data', other]);
    expect([silver.status, silver.stderr]).toEqual([
      2,
      expect.stringContaining(
        '--tier: expected one of premium, enterprise, gold, free, not silver',
      ),
    ]);
    await serving.stop();
    expect(await listed()).toMatchObject([{ tier: 'gold', limits: null }]);
    expect((await fathom(['keys', 'list', '--data', other])).stdout).toMatch(
      / refused +unknown plan +unknown plan /,
    );
    expect(serving.logged()).not.toContain('not configured');
    serving = await serveHere(other);
    const warning = serving
      .logged()
      .split('\n')
      .find((line) => line.includes('not configured'));
    expect(JSON.parse(warning ?? 'null')).toMatchObject({
      level: 'warn',
      msg: 'keys get 401: their plans are not configured',
      plans: 'gold',
      keys: 1,
    });
    const unknown = await serving.get('/usage', key as string);
    expect([unknown.status, await unknown.json()]).toEqual([
      401,
      { error: 'The plan of this key, gold, is not configured on this server' },
    ]);
    await serving.stop();
  });

  it('usage prints the calls of every key, by day and endpoint', async () => {
    const made = await json('create', '--tier', 'premium', '--name', 'a, "b"');
    const usage = (...words: string[]) => fathom(['usage', ...words, '--data', data]);
    await (await server.get('/tokens', made.key)).arrayBuffer();
    await (await server.get('/tokens', made.key)).arrayBuffer();
    await (await server.get('/nothing', made.key)).arrayBuffer();
    const today = new Date().toISOString().slice(0, 10);
    const day = { date: today, endpoint: 'GET /tokens', calls: 2 };
    const document = JSON.parse((await usage('--json')).stdout) as Json;
    expect(document.month).toBe(today.slice(0, 7));
    expect((document.keys as Json[]).find(({ id }) => id === made.id)).toEqual({
      id: made.id,
      name: 'a, "b"',
      tier: 'premium',
      calls: 2,
      days: [day],
    });
    const csv = (await usage('--csv')).stdout.split('\n');
    expect(csv[0]).toBe('key_id,name,tier,date,endpoint,calls');
    expect(csv).toContain(`${made.id as string},"a, ""b""",premium,${today},GET /tokens,2`);
    const { stdout, stderr } = await usage();
    expect(stdout).toContain(`${made.id as string}  a, "b"`);
    expect(stderr).toMatch(/^\d{4}-\d\d: [\d,]+ calls? of \d+ keys?\n$/);
    expect(JSON.parse((await usage('--month', '2020-02', '--json')).stdout)).toMatchObject({
      month: '2020-02',
    });
    expect((await usage('--month', '2020-2')).stderr).toContain('--month: expected a month');
    expect((await usage('--csv', '--json')).status).toBe(2);
    const listed = (await json('list')) as Json[];
    const lastUsedS = listed.find(({ id }) => id === made.id)?.last_used_at as number;
    expect([lastUsedS % 3600, Date.now() / 1000 - lastUsedS < 2 * 3600]).toEqual([0, true]);
    await server.stop();
    server = await serveHere(data);
    const after = (await json('list')) as Json[];
    expect(after.find(({ id }) => id === made.id)?.last_used_at).toBe(lastUsedS);
    expect((await usage('--csv')).stdout).toContain(`GET /tokens,2`);
  });

  it('revoke ends a key for good', async () => {
    const revoked = await json('revoke', second.id);
    expect(revoked).toMatchObject({ id: second.id, revoked_at: expect.any(Number) });
    expect(revoked).not.toHaveProperty('key');
    await becomes(() => tierOf(second.key), null);
    const again = await keys('revoke', second.id);
    expect([again.status, again.stderr]).toEqual([1, `the key ${second.id} is revoked already\n`]);
    const rotated = await keys('rotate', second.id);
    expect([rotated.status, rotated.stderr]).toEqual([
      1,
      `the key ${second.id} is revoked already\n`,
    ]);
  });
});
