/** Work that ends in time, a check of sources that do not answer, and books by REST that wait. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { checkSources } from '../../collect/check.js';
import { RestClient } from '../../collect/rest.js';
import type { Source } from '../../collect/source.js';
import { withTimeout } from '../../collect/timeout.js';
import { atEnd } from '../support/folders.js';

const never = (): Promise<never> => new Promise(() => undefined);

it('work that is late, or is stopped, is waited for no longer', async () => {
  const stop = new AbortController();
  const seen: AbortSignal[] = [];
  const work = (signal: AbortSignal): Promise<never> => {
    seen.push(signal);
    return never();
  };
  await expect(withTimeout(stop.signal, 5, work)).rejects.toMatchObject({ name: 'TimeoutError' });
  const stopped = withTimeout(stop.signal, 1e6, work);
  stop.abort(new Error('over'));
  await expect(stopped).rejects.toThrow('over');
  await expect(withTimeout(stop.signal, 1e6, work)).rejects.toThrow('over');
  expect(seen.map(({ aborted }) => aborted)).toEqual([true, true]);
});

const silent: Source = {
  name: 'a',
  venue: 'a',
  exchangeType: 'CEX',
  type: 'cex_spot',
  losses: 'nothing',
  compared: null,
  start: () => undefined,
  sample: never,
  stop: () => undefined,
};
const context = { everyS: 60, rest: new RestClient(), log: () => 0, onResync: () => 0 };

it.each([
  ['its patience is over', 20, null],
  ['it is stopped', 1e6, 20],
])('a check of many sources that do not answer ends once %s', async (_, patienceMs, stopMs) => {
  const warnings: Error[] = [];
  const note = (warning: Error): number => warnings.push(warning);
  process.on('warning', note);
  const stopping = new AbortController();
  if (stopMs !== null) setTimeout(() => stopping.abort(), stopMs);
  const sources = Array.from({ length: 30 }, (_each, i) => ({
    id: `s${i}`,
    quoteUsd: 1,
    open: () => ({ ...silent, sample: i % 2 ? never : () => ({ missing: 'no book' }) }),
  }));
  const token = { chain: 'mainchain', address: '1'.repeat(32) } as const;
  const config = { everyS: 60, tokens: [{ token, price: null, sources }] };
  const rows = await checkSources(config, context, { patienceMs, stop: stopping.signal });
  process.off('warning', note);
  expect(rows.slice(0, 2).map(({ missing }) => missing)).toEqual(['no book', 'no answer']);
  expect(rows.length).toBe(30);
  expect(warnings).toEqual([]);
});

it('a request that is dropped before its turn is not made, and a pause outlasts a stop', async () => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked++;
    setTimeout(
      () => response.writeHead(asked === 1 ? 429 : 200, { 'retry-after': '1' }).end('{}'),
      30,
    );
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const rest = new RestClient({ gapMs: 5 });
  const [first, second] = [new AbortController(), new AbortController()];
  const banned = rest.fetch(url, first.signal);
  const dropped = rest.fetch(url, second.signal);
  second.abort(new Error('its moment has passed'));
  await expect(banned).rejects.toThrow('replies 429');
  const fromMs = performance.now();
  first.abort();
  await expect(dropped).rejects.toThrow('its moment has passed');
  await rest.fetch(url, new AbortController().signal);
  expect(asked).toBe(2);
  expect(performance.now() - fromMs).toBeGreaterThan(900);
});
