import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hangUp } from '../support/replay-proxy.js';
import {
  killedRun,
  ProxiedMarket,
  serveMarket,
  startReplay,
  WHOLE,
} from './replay-client-support.js';
import { eventually } from '../support/waiting.js';

const ours = new ProxiedMarket();

it('no page is requested twice, and the window stays that of the first run', async () => {
  const out = ours.at('day.json');
  const words = ['--from', WHOLE[1], '--ahead', '1'];
  ours.proxy.script = (n) => (n >= 4 ? hangUp : null);
  const child = startReplay(ours.market.key, ours.proxy.url, ['--out', out, ...words]);
  const stderr: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  await eventually('it waits', () => Buffer.concat(stderr).includes('no reply'));
  child.kill('SIGINT');
  const status = await new Promise((resolve) => child.once('close', resolve));
  expect(status).toBe(1);
  expect(Buffer.concat(stderr).toString()).toMatch(
    /interrupted; 3 pages are kept; the same command resumes from 20\d\d-/,
  );
  const before = ours.proxy.requests.length;
  ours.proxy.script = () => null;
  expect(await ours.run(out, words)).toMatchObject({ error: null });
  const queries = ours.proxy.requests.map(
    (request) => new URL(request, ours.proxy.url).searchParams,
  );
  const { to } = JSON.parse(readFileSync(out, 'utf8')).window;
  expect(queries.slice(1).map((query) => query.get('to'))).toEqual(
    queries.slice(1).map(() => String(to)),
  );
  const froms = queries.map((query) => Number(query.get('from')));
  expect(froms[before]).toBe(froms[3]);
  expect(new Set(froms.slice(before)).size).toBe(froms.length - before);
});

it('continues after a restart of the server', async () => {
  const expected = await ours.uninterrupted('whole.csv');
  const before = ours.proxy.requests.length;
  ours.proxy.script = (n) => {
    if (n !== before + 4) return null;
    return (_, pass) => {
      void ours.market.server.stop().then(async () => {
        // This request is lost; the next attempts fail until the server is back.
        pass();
        ours.market.server = await serveMarket(ours.market.data);
        ours.proxy.upstream = ours.market.server.url;
      });
    };
  };
  const out = ours.at('restart.csv');
  const ended = await ours.run(out);
  expect(ended.stderr).toMatch(/no reply from .*; trying again/);
  expect(ended.error).toBeNull();
  expect(readFileSync(out).equals(expected)).toBe(true);
});

describe('what an earlier run left', () => {
  const out = (): string => ours.at('left.csv');
  const leave = (): Promise<void> => killedRun(ours.market, ours.proxy, out(), 3);

  it('of another request is refused, unless --restart drops it', async () => {
    await leave();
    const kept = readFileSync(`${out()}.part`);
    for (const [words, told] of [
      [[...WHOLE, '--group', 'all'], /another request: group \(was not given, is all\)/],
      [['--from', WHOLE[1]], /another request: to \(was \d+, is not given\)/],
      [[...WHOLE, '--format', 'ndjson'], /another request: format \(was csv, is ndjson\)/],
    ] as const) {
      expect((await ours.run(out(), words)).error?.message).toMatch(told);
    }
    expect(readFileSync(`${out()}.part`).equals(kept)).toBe(true);
    expect(await ours.run(out(), [...WHOLE, '--group', 'all', '--restart'])).toMatchObject({
      error: null,
    });
    expect(readFileSync(out(), 'utf8').split('\n')[0]).toBe(
      'chain,address,t,tier,price_usd,bin,support_usd,resistance_usd',
    );
    expect(readdirSync(ours.directory)).toEqual(['left.csv']);
  });

  it('damaged is refused', async () => {
    await leave();
    writeFileSync(`${out()}.part`, 'chain');
    expect((await ours.run(out())).error?.message).toMatch(
      /has 5 bytes, but .* counts \d+; use --restart/,
    );
    writeFileSync(`${out()}.part.state`, 'nonsense');
    expect((await ours.run(out())).error?.message).toMatch(/not a state file of this version/);
    expect(await ours.run(out(), [...WHOLE, '--restart'])).toMatchObject({ error: null });
  });

  it('is not touched while its process lives', async () => {
    ours.proxy.script = (n) => (n === 3 ? () => undefined : null);
    const child = startReplay(ours.market.key, ours.proxy.url, ['--out', out(), ...WHOLE]);
    await eventually('it asks', () => ours.proxy.requests.length >= 3);
    const second = await ours.run(out());
    expect(second.error?.message).toMatch(new RegExp(`process ${child.pid} is writing this file`));
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await closed;
    expect(await ours.run(out())).toMatchObject({ error: null });
  });
});
