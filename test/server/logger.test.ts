/** What the log contains, and that it never blocks anything. */
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DamageError } from '../../compute/damage.js';
import {
  createLogger,
  LOG_LEVELS,
  MAX_LINES_OF_ONE_EVENT,
  MAX_UNREAD_LOG_BYTES,
} from '../../server/logger.js';
import { MAX_CAUSES, REPEATS_PERIOD_MS } from '../../server/logger-repeats.js';
import type { Exchange } from '../../server/http/exchange.js';
import { MAX_KEYLESS_LINES, RequestLog } from '../../server/operations/request-log.js';
import { fathom, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { loggerInto } from '../support/logger.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { heldService, KEY, MINT, steadyStore } from '../support/service.js';
import { eventually } from '../support/waiting.js';

type Line = Record<string, unknown>;
const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line) as Line);

describe('the log', () => {
  it('keeps an event on one line, whatever it contains', () => {
    const lines: string[] = [];
    const hostile = 'x\ny","level":"fatal';
    const error = Object.assign(new Error('first\nsecond', { cause: new Error('the root') }), {
      secret: 'x',
    });
    loggerInto(lines).error('two words', { hostile, count: 3, none: null }, error);
    loggerInto(lines).warn('long', { text: 'x'.repeat(10_000) });
    const [failed, long] = parsed(lines);
    expect(lines.length).toBe(2);
    expect(failed).toMatchObject({
      level: 'error',
      msg: 'two words',
      hostile,
      count: 3,
      none: null,
    });
    expect(failed.err).toEqual({
      type: 'Error',
      message: 'first\nsecond: the root',
      stack: expect.stringMatching(/second\n.* at .*caused by: Error: the root/s) as string,
    });
    expect((long.text as string).length).toBe(4096);
  });

  it('has the lines of its level and above, and always the one with the URL', () => {
    for (const [i, level] of LOG_LEVELS.entries()) {
      const lines: string[] = [];
      const logger = loggerInto(lines, { level });
      logger.fatal('x', new Error('x'));
      for (const name of ['error', 'warn', 'info', 'debug'] as const) logger[name]('x');
      logger.always('listening', { url: 'http://x' });
      const levels = parsed(lines).map((line) => line.level);
      expect(levels).toEqual([...LOG_LEVELS.slice(0, i + 1), 'info']);
    }
  });

  it('can be written for people', () => {
    const lines: string[] = [];
    loggerInto(lines, { format: 'pretty' }).warn('two words', { count: 3 });
    expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: two words \{"count":3\}$/);
    expect(lines[0]).not.toContain('\u001b');
  });

  it('drops lines that nobody reads, and then says how many', async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const logger = createLogger({ stream });
    const text = 'x'.repeat(1000);
    for (let i = 0; i < 3000; i++) logger.info(text);
    expect(stream.writableLength).toBeLessThan(MAX_UNREAD_LOG_BYTES + 2 * text.length);
    const lines = createInterface({ input: stream });
    const read: string[] = [];
    lines.on('line', (line) => void read.push(line));
    await eventually('all is written', () => stream.writableLength === 0);
    const written = read.length;
    logger.info('last');
    await eventually('the last line is read', () => read.at(-1)?.includes('"last"') === true);
    expect(JSON.parse(read[written])).toMatchObject({
      level: 'warn',
      count: 3000 - written,
      msg: 'lines of the log were dropped: nobody read them',
    });
    lines.close();
  });

  describe('of a minute', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());
    const endMinute = () => vi.advanceTimersByTime(REPEATS_PERIOD_MS);
    const failure = (quoted: string) => new TypeError(`cannot read '${quoted}'`);

    it('has one line for each cause of an error, and then how many were left out', () => {
      const lines: string[] = [];
      const logger = loggerInto(lines);
      for (let i = 0; i < 5; i++) {
        logger.error(
          'request failed',
          { request_id: `r${i}`, path: `/${i}` },
          failure(`text ${i}`),
        );
      }
      logger.error('request failed', {}, new RangeError('another place'));
      logger.error('tokens failed', { token_id: 1 }, new DamageError('segment 1'));
      logger.error('tokens failed', { token_id: 2 }, new DamageError('segment 2'));
      const causes = () =>
        parsed(lines).map(({ msg, request_id: id, token_id: t }) => [msg, id ?? t]);
      expect(causes()).toEqual([
        ['request failed', 'r0'],
        ['request failed', undefined],
        ['tokens failed', 1],
        ['tokens failed', 2],
      ]);
      endMinute();
      const left = { level: 'error', msg: 'errors were left out', of: 'request failed', count: 4 };
      expect(parsed(lines).slice(4)).toMatchObject([left]);
      logger.error('request failed', { request_id: 'later' }, new RangeError('another place'));
      expect(causes().at(-1)).toEqual(['request failed', 'later']);
      endMinute();
      expect(lines).toHaveLength(6);
    });

    it('tells a bounded number of causes apart', () => {
      const lines: string[] = [];
      const logger = loggerInto(lines);
      for (let i = 0; i < MAX_CAUSES + 50; i++) logger.error(`cause ${i}`);
      expect(lines).toHaveLength(MAX_CAUSES);
      endMinute();
      expect(parsed(lines).slice(MAX_CAUSES)).toMatchObject([{ of: null, count: 50 }]);
    });

    it('has a bounded number of lines of an event that clients can cause', () => {
      const lines: string[] = [];
      const logger = loggerInto(lines);
      for (let i = 0; i < MAX_LINES_OF_ONE_EVENT + 7; i++)
        logger.atWill('info', 'token queued', { i });
      logger.atWill('warn', 'another');
      expect(lines).toHaveLength(MAX_LINES_OF_ONE_EVENT + 1);
      endMinute();
      expect(parsed(lines).slice(-1)).toMatchObject([{ of: 'token queued', count: 7 }]);
      const unheard: string[] = [];
      loggerInto(unheard, { level: 'warn' }).atWill('info', 'token queued');
      expect(unheard).toEqual([]);
    });
  });

  it('writes frequent lines like all others', () => {
    const lines: string[] = [];
    const fields = { method: 'GET', route: null, status: 200, request_id: 'a-1', ms: 0.25 };
    for (const level of ['info', 'warn'] as const) {
      const logger = loggerInto(lines, { level });
      logger.often('request', JSON.stringify(fields).slice(1, -1));
      logger.info('request', fields);
    }
    const untimed = lines.map((line) => line.replace(/"time":"[^"]{24}"/, ''));
    expect(untimed).toEqual([untimed[1], untimed[1]]);
    const pretty: string[] = [];
    const forPeople = loggerInto(pretty, { format: 'pretty' });
    forPeople.often('request', '"status":200');
    forPeople.info('request', { status: 200 });
    expect(pretty[0].slice(15)).toBe(pretty[1].slice(15));
  });

  it('collects frequent lines, and writes them in order with the next other one', () => {
    const chunks: string[] = [];
    const write = (text: string) => void chunks.push(text);
    const logger = createLogger({ stream: { writableLength: 0, write } });
    for (let i = 0; i < 3; i++) logger.often('request', `"i":${i}`);
    expect(chunks).toEqual([]);
    logger.warn('now');
    expect(chunks.length).toBe(1);
    expect(parsed(chunks[0].trimEnd().split('\n')).map(({ i }) => i)).toEqual([0, 1, 2, undefined]);
    const text = 'x'.repeat(1000);
    for (let i = 0; i < 20; i++) logger.often('request', `"text":"${text}"`);
    expect(chunks.length).toBe(2);
  });
});

describe('the lines of requests', async () => {
  const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(2, 2));
  const service = await heldService({ depth });

  const lineOf = async (response: Response): Promise<Line> => {
    const id = response.headers.get('x-request-id');
    const found = (): Line | undefined =>
      parsed(service.logged).find((line) => line.msg === 'request' && line.request_id === id);
    await eventually('the line is written', () => found() !== undefined);
    return found() as Line;
  };

  it('say what was requested, by whom and how it went, but never a key or an address', async () => {
    const response = await service.get(`/score/${MINT}`, {
      headers: { 'x-request-id': 'bot-7.1' },
    });
    const bytes = (await response.arrayBuffer()).byteLength;
    expect(response.headers.get('x-request-id')).toBe('bot-7.1');
    expect(await lineOf(response)).toEqual({
      level: 'info',
      time: expect.any(String) as string,
      request_id: 'bot-7.1',
      method: 'GET',
      route: '/api/v1/score/:address',
      status: 200,
      key_id: service.keys.verify(KEY)?.id,
      bytes,
      ms: expect.any(Number) as number,
      msg: 'request',
    });
    expect(service.logged.join('\n')).not.toContain(MINT);
    expect(service.logged.join('\n')).not.toContain(KEY);
  });

  it('have new ids in place of ones that are too long or break out of the line', async () => {
    for (const id of ['x'.repeat(129), 'a b', '<b>', '"', '\u00e9']) {
      const response = await service.get('/top-scores', { headers: { 'x-request-id': id } });
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{12}-\w+$/);
      await response.arrayBuffer();
    }
  });

  it('name no route if none took the request; failed authentication is always a warning', async () => {
    const headers = { 'x-api-key': 'no such key' };
    const response = await service.get('/nowhere', { headers });
    await response.arrayBuffer();
    expect(await lineOf(response)).toMatchObject({ route: null, status: 401, key_id: null });
    const warned = parsed(service.logged).filter(({ msg }) => msg === 'authentication failed');
    const id = response.headers.get('x-request-id');
    expect(warned).toMatchObject([{ level: 'warn', request_id: id, key: 'invalid' }]);
    expect(service.logged.join('\n')).not.toContain('no such key');
  });
});

it('the line of a request is a single one, whatever the method', () => {
  const lines: string[] = [];
  const logger = loggerInto(lines);
  const method = '"\\\n\u2028é';
  const request = {
    id: 'a',
    method,
    route: null,
    status: null,
    keyId: 'key_1',
    bytes: 0,
    ageMs: 1,
  };
  new RequestLog(logger).ended({ ...request, isKeyless: false } as unknown as Exchange);
  logger.info('end');
  expect(lines.length).toBe(2);
  expect(parsed(lines)[0]).toMatchObject({ method, route: null, status: 499, key_id: 'key_1' });
});

describe('a flood without a key', () => {
  afterEach(() => vi.useRealTimers());

  it('is counted, not listed', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const lines: string[] = [];
    const requests = new RequestLog(loggerInto(lines));
    const request = {
      id: 'a',
      method: 'GET',
      route: '/x',
      status: 401,
      keyId: null,
      bytes: 9,
      ageMs: 1,
    };
    const keyless = (key: string) =>
      ({ ...request, isKeyless: true, header: () => key }) as unknown as Exchange;
    for (let i = 0; i < 5000; i++) requests.ended(keyless(i % 2 === 0 ? '' : 'wrong'));
    vi.advanceTimersByTime(10_000);
    const entries = parsed(lines);
    expect(entries.filter(({ msg }) => msg === 'request').length).toBe(MAX_KEYLESS_LINES);
    expect(entries.filter(({ msg }) => msg !== 'request')).toMatchObject([
      { level: 'warn', msg: 'authentication failed', key: 'missing' },
      { level: 'warn', msg: 'more authentications failed', missing_keys: 2499, invalid_keys: 2500 },
      { level: 'info', msg: 'more requests without a key', count: 4900 },
    ]);
    lines.length = 0;
    requests.ended(keyless(''));
    requests.ended(keyless(''));
    requests.close();
    expect(parsed(lines).map(({ msg }) => msg)).toEqual([
      'authentication failed',
      'request',
      'request',
      'more authentications failed',
    ]);
  });
});

describe('changes of keys', () => {
  it('are logged by id', async () => {
    const directory = temporaryDirectory();
    const server = await serveHere(directory);
    const keys = (words: string) =>
      fathom([...`keys ${words} --json --data`.split(' '), directory]);
    const made = await keys('create --tier premium --name alice');
    const { id, key } = JSON.parse(made.stdout) as { id: string; key: string };
    const { key: next } = JSON.parse((await keys(`rotate ${id}`)).stdout) as { key: string };
    await keys(`revoke ${id}`);
    await server.stop();
    const lines = parsed(server.logged().split('\n'));
    expect(lines.filter((line) => 'key_tier' in line)).toMatchObject(
      ['created', 'rotated', 'revoked'].map((change) => ({
        level: 'info',
        msg: `key ${change}`,
        key_id: id,
        key_tier: 'premium',
      })),
    );
    for (const secret of [key, next, 'alice']) expect(server.logged()).not.toContain(secret);
  });
});
