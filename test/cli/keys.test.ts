/** `fathom keys`, with the server stopped and running. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  cleanUp,
  fathom,
  fathomProcess,
  serveHere,
  temporaryDirectory,
  withStoreOf,
  type Service,
} from '../support/cli.js';
import type { Json } from '../support/tables.js';
import { becomes } from '../support/waiting.js';

const MINT = 'So11111111111111111111111111111111111111112';

const data = path.join(temporaryDirectory(), 'data');
const keys = (...words: string[]) => fathom(['keys', ...words, '--data', data]);

/** The JSON document of a command that has to work. */
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
afterAll(cleanUp);

describe('a directory without a store', () => {
  it.each([['list'], ['rotate', 'key_x'], ['revoke', 'key_x']])(
    'is refused by %s, and not made',
    async (...words) => {
      const missing = path.join(temporaryDirectory(), 'dtaa');
      const ended = await fathom(['keys', ...words, '--data', missing]);
      expect([ended.status, ended.stdout]).toEqual([1, '']);
      expect(ended.stderr).toBe(
        `${missing} holds no store; is --data right? (ingest, import, demo, keys create and serve make one)\n`,
      );
      expect(existsSync(missing)).toBe(false);
    },
  );

  it('gets one by create, which says so', async () => {
    const missing = path.join(temporaryDirectory(), 'new');
    const made = await fathom(['keys', 'create', '--tier', 'premium', '--json', '--data', missing]);
    expect(made.stderr).toBe(`${missing} held no store; it holds a new, empty one now\n`);
    expect((await fathom(['keys', 'list', '--data', missing])).status).toBe(0);
  });

  it.runIf(process.platform === 'linux')(
    'is told where the system makes no directories',
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

  it('list shows every key without its text, which is stored nowhere', async () => {
    const listed = (await json('list')) as Json[];
    expect(listed).toHaveLength(3);
    const { key: text, ...shown } = first;
    expect(listed.find(({ id }) => id === first.id)).toEqual(shown);
    expect(JSON.stringify(listed)).not.toContain(text);
    for (const name of readdirSync(data)) {
      expect([name, readFileSync(path.join(data, name)).includes(text as string)]).toEqual([
        name,
        false,
      ]);
    }
  });

  const wrong: [string[], RegExp][] = [
    [[], /^keys: expected create, list, rotate or revoke$/],
    [['sell'], /^keys: expected create, list, rotate or revoke, not sell$/],
    [['create'], /^--tier: expected premium or enterprise$/],
    [['create', '--tier', 'gold'], /^--tier: expected premium or enterprise, not gold$/],
    [
      ['crate'],
      /^keys: expected create, list, rotate or revoke, not crate; did you mean create\?$/,
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
    [['list', '--data', ''], /^--data: expected a value, not an empty text$/],
    [['create', '--tier', 'premium', 'extra'], /^unexpected extra$/],
    [['list', 'extra'], /^unexpected extra$/],
    [['revoke'], /^ID: expected one$/],
    [['rotate', 'a', 'b'], /^unexpected b$/],
    [['list', '--tier', 'premium'], /^unknown flag --tier$/],
  ];

  it.each(wrong)('%j is wrong usage', async (words, expected) => {
    const { status, stderr } = await fathom(['keys', ...words]);
    expect(status).toBe(2);
    expect(stderr.split('\n')[0].replace('fathom: ', '')).toMatch(expected);
  });

  it('wrong usage and unknown ids have their own status', async () => {
    const usage = await keys('create', '--json');
    expect([usage.status, JSON.parse(usage.stdout)]).toEqual([
      2,
      { error: '--tier: expected premium or enterprise' },
    ]);
    const unknown = await keys('revoke', 'key_none', '--json');
    expect([unknown.status, unknown.stderr]).toEqual([1, 'no key has the id key_none\n']);
    expect(JSON.parse(unknown.stdout)).toMatchObject({ error: 'no key has the id key_none' });
  });
});

describe('with the server running', () => {
  let server: Service;
  beforeAll(async () => {
    server = await serveHere(data);
  });

  /** What the server makes of a key: its tier, or null where it refuses it. */
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

  it('what was changed stands after a restart', async () => {
    await server.stop();
    server = await serveHere(data);
    expect(await tierOf(second.key)).toBeNull();
    const listed = (await json('list')) as Json[];
    expect(listed.find(({ id }) => id === second.id)?.revoked_at).not.toBeNull();
  });
});
