/** `fathom keys`, with the server stopped and running. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanUp, fathom, serve, temporaryDirectory, type Server } from '../support/cli.js';
import { eventually } from '../support/raw-client.js';
import type { Json } from '../support/tables.js';

const MINT = 'So11111111111111111111111111111111111111112';
/** A change has to show within this. */
const VISIBLE_WITHIN_MS = 1000;

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
  first = await json('create', '--tier', 'premium', '--name', 'Ann “A”', '--rpm', '7');
  second = await json('create', '--tier', 'enterprise', '--rpm', 'unlimited', '--quota', '5000');
});
afterAll(cleanUp);

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
    const ended = await keys('create', '--tier', 'premium');
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

  it('wrong usage and unknown ids have their own status', async () => {
    const [noTier, ...others] = await Promise.all([
      keys('create'),
      keys('create', '--tier', 'gold'),
      keys('create', '--tier', 'premium', '--rpm', '0'),
      keys('create', '--tier', 'premium', '--rpm', '1.5'),
      keys('create', '--tier', 'premium', '--quota', '-1'),
    ]);
    expect([noTier.status, noTier.stderr.split('\n')[0]]).toEqual([
      2,
      'fathom: --tier: expected premium or enterprise',
    ]);
    expect(others.map(({ status, stderr }) => [status, stderr.split('\n')[0]])).toEqual([
      [2, 'fathom: --tier: expected premium or enterprise'],
      [2, expect.stringMatching(/^fathom: --rpm: expected a whole number from 1 to \d+, not 0$/)],
      [
        2,
        expect.stringMatching(/^fathom: --rpm: expected a whole number from 1 to \d+, not 1\.5$/),
      ],
      [2, expect.stringMatching(/^fathom: --quota/)],
    ]);
    const refused = await Promise.all([
      keys(),
      keys('sell'),
      keys('revoke'),
      keys('rotate', 'a', 'b'),
      keys('revoke', 'key_none', '--json'),
      keys('create', '--tier', 'premium', '--name', ''),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([2, 2, 2, 2, 1, 2]);
    expect(JSON.parse(refused[4].stdout)).toMatchObject({ error: 'no key has the id key_none' });
    for (const { stderr } of refused) expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('with the server running', () => {
  let server: Server;
  beforeAll(async () => {
    server = await serve(data);
  });

  const status = async (key: string) => {
    const response = await server.get(`/replay/${MINT}?group=all`, key);
    await response.arrayBuffer();
    return [response.status, response.headers.get('x-api-tier')];
  };
  const becomes = (key: string, expected: unknown[]) =>
    eventually(async () => expect(await status(key)).toEqual(expected), VISIBLE_WITHIN_MS);

  it('keys made before and after its start work', async () => {
    expect(await status(first.key)).toEqual([404, 'premium']);
    const late = await json('create', '--tier', 'enterprise');
    await becomes(late.key, [404, 'enterprise']);
    expect((await status('nonsense'))[0]).toBe(401);
  });

  it('rotate gives the key a new text, and the old one ends', async () => {
    const rotated = await json('rotate', first.id);
    const { key: _, hint: __, ...same } = first;
    expect(rotated).toMatchObject(same);
    expect(rotated.key).not.toBe(first.key);
    await becomes(first.key, [401, null]);
    expect(await status(rotated.key)).toEqual([404, 'premium']);
  });

  it('revoke ends a key for good', async () => {
    const revoked = await json('revoke', second.id);
    expect(revoked).toMatchObject({ id: second.id, revoked_at: expect.any(Number) });
    expect(revoked).not.toHaveProperty('key');
    await becomes(second.key, [401, null]);
    const again = await keys('revoke', second.id);
    expect([again.status, again.stderr]).toEqual([1, `the key ${second.id} is revoked\n`]);
    const rotated = await keys('rotate', second.id);
    expect([rotated.status, rotated.stderr]).toEqual([1, `the key ${second.id} is revoked\n`]);
  });

  it('what was changed stands after a restart', async () => {
    await server.stop();
    server = await serve(data);
    expect(await status(second.key)).toEqual([401, null]);
    const listed = (await json('list')) as Json[];
    expect(listed.find(({ id }) => id === second.id)?.revoked_at).not.toBeNull();
  });
});
