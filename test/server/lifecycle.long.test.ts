import { once } from 'node:events';
import { createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../bench/programs.js';
import { BOARDS_IN_WORK } from '../../compute/scheduler.js';
import { startServer } from '../../server/app.js';
import { systemClock, frozenClock } from '../../server/clock.js';
import { MemoryDepth, MemoryKeys } from '../support/memory-depth.js';
import { NO_LOGGER } from '../support/logger.js';
import { RawClient, requestText } from '../support/raw-client.js';
import {
  KEY,
  MINT,
  WIDE_MINT,
  startTestService,
  steadyStore,
  type TestService,
  type TestServiceOptions,
} from '../support/service.js';
import { becomes, eventually } from '../support/waiting.js';

const wide = steadyStore(288, 34);
const running: TestService[] = [];

async function start(options: TestServiceOptions = {}): Promise<TestService> {
  const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(10, 2));
  depth.add('mainchain', WIDE_MINT, wide, { perSegment: 24 });
  const service = await startTestService({ depth, blockBytes: 0, ...options });
  running.push(service);
  return service;
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.stop()));
});

/** Holds up every read of segments until it is called. */
function holdReads({ depth }: TestService): () => void {
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  depth.beforeRead = () => gate;
  return () => {
    depth.beforeRead = async () => {};
    open();
  };
}

describe('a busy service', () => {
  it('answers many concurrent pages, each whole', async () => {
    const service = await start({ threads: 2 });
    const expected = await (await service.get(`/replay/${WIDE_MINT}`)).text();
    const pages = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const response = await service.get(`/replay/${WIDE_MINT}`);
        return [response.status, (await response.text()) === expected];
      }),
    );
    expect(pages).toEqual(pages.map(() => [200, true]));
    expect(service.pool.pendingJobs).toBe(0);
  });

  it('says 503 at once if the most pages allowed wait, and recovers', async () => {
    const service = await start({ threads: 1, pageLimits: { maxWaiting: 1 } });
    const resume = holdReads(service);
    const inWork = [0, 1, 2].map(() => service.get(`/replay/${MINT}`));
    await eventually('two are in work', () => service.depth.reads.length === 2);
    await eventually('one waits', () => service.pool.waiting('page') === 1);
    const refused = await service.get(`/replay/${MINT}`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ error_code: 'replay_busy' });
    expect(service.depth.reads.length).toBe(2);
    resume();
    for (const response of await Promise.all(inWork)) expect(response.status).toBe(200);
    expect((await service.get(`/replay/${MINT}`)).status).toBe(200);
  });

  it('makes a page even while as many boards wait as may be in work', async () => {
    const service = await start({ threads: 1 });
    const resume = holdReads(service);
    const page = service.get(`/replay/${MINT}`);
    await eventually('the page is in work', () => service.depth.reads.length === 1);
    const boards = Array.from({ length: 2 * BOARDS_IN_WORK }, () => service.pool.run('ping', null));
    resume();
    await Promise.all(boards);
    expect((await page).status).toBe(200);
  });

  it('refuses a reply that alone exceeds its key’s share of the bytes in flight', async () => {
    const service = await start({ limits: { maxBytesInFlightPerKey: 100_000 } });
    const path = `/replay/${WIDE_MINT}`;
    const headers = { 'accept-encoding': 'identity' };
    const refused = await service.get(path, { headers });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([400, null]);
    expect(await refused.json()).toMatchObject({ error_code: 'reply_too_large' });
    const small = await service.get(`/replay/${MINT}`, { headers });
    expect([small.status, Number(small.headers.get('content-length')) > 16_384]).toEqual([
      200,
      false,
    ]);
  });

  it('drops a client that has disconnected, without rendering its page', async () => {
    const service = await start({ isReady: () => true });
    const resume = holdReads(service);
    const client = await RawClient.connect(service.server.port);
    client.send(requestText(`GET /api/v1/replay/${MINT}`, { 'x-api-key': KEY }));
    await eventually('the page is in work', () => service.depth.reads.length === 1);
    const posted = service.pool.postedTasks;
    client.socket.destroy();
    const after = service.get(`/replay/${MINT}`, { headers: { 'x-api-key': 'nobody' } });
    expect((await after).status).toBe(401);
    const metrics = async () => (await fetch(`${service.server.url}/metrics`)).text();
    const inFlight = async () => /^fathom_http_in_flight (\d+)$/m.exec(await metrics())?.[1];
    // Exactly this request.
    await becomes(inFlight, '1');
    resume();
    // A later request was served; this one was not.
    expect((await service.get(`/replay/${MINT}?group=all`)).status).toBe(200);
    expect(service.pool.postedTasks).toBe(posted + 1);
  });
});

describe('a thread that dies', () => {
  /** A service with one thread, the threads as they start, and a page that was made before. */
  async function withThreads() {
    const threads: Worker[] = [];
    const onThread = (thread: Worker) => void threads.push(thread);
    process.on('worker', onThread);
    const service = await start({ threads: 1, pageLimits: {}, blockBytes: undefined });
    const path = `/replay/${WIDE_MINT}?group=venue`;
    const expected = await (await service.get(path)).text();
    const stop = () => process.off('worker', onThread);
    return { service, threads, path, expected, stop };
  }

  it('is replaced, and another makes its page', async () => {
    const { service, threads, path, expected, stop } = await withThreads();
    // A thread that finishes before it is ended has lost nothing; the next one then has to be.
    while (!service.logged.join('').includes('lost its thread')) {
      const page = service.get(path);
      while (service.pool.busyThreads === 0) await nextTurn();
      await threads.at(-1)?.terminate();
      const response = await page;
      expect([response.status, await response.text()]).toEqual([200, expected]);
    }
    expect(threads.length).toBeGreaterThan(1);
    for (let i = 0; i < 2; i++) expect(await (await service.get(path)).text()).toBe(expected);
    stop();
  });

  it('of the same page twice gets it a 503, and the next page is made', async () => {
    const { service, threads, path, expected, stop } = await withThreads();
    let response: Response;
    // A thread that finishes before it is ended has made the page.
    do {
      await service.pool.probe();
      const page = service.get(path);
      while (service.pool.busyThreads === 0) await nextTurn();
      const count = threads.length;
      await threads[count - 1].terminate();
      while (threads.length === count) await nextTurn();
      // It is ready, and has the page by now.
      await once(threads[count], 'message');
      await threads[count].terminate();
      response = await page;
    } while (response.status === 200);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toMatchObject({ error_code: 'replay_busy' });
    // The last task was lost: readiness asks the pool for another.
    const { postedTasks } = service.pool;
    await service.pool.probe();
    expect(service.pool.postedTasks).toBeGreaterThan(postedTasks);
    expect(await (await service.get(path)).text()).toBe(expected);
    stop();
  });
});

describe('starting', () => {
  it('names a port that is in use, by such a server or any other', async () => {
    const service = await start();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', () => resolve()));
    const { port: otherPort } = other.address() as { port: number };
    for (const port of [service.server.port, otherPort]) {
      await expect(startAt(service, '127.0.0.1', port)).rejects.toThrow(
        `port ${port} on 127.0.0.1 is in use`,
      );
    }
    other.close();
  });

  it('names a host that this machine does not have', async () => {
    const service = await start();
    await expect(startAt(service, '192.0.2.1', 0)).rejects.toThrow(
      'port 0 on 192.0.2.1: the host is not an address of this machine',
    );
  });
});

describe('closing', () => {
  it('finishes a page in work first, and takes no more connections', async () => {
    const service = await start();
    const resume = holdReads(service);
    const page = service.get(`/replay/${WIDE_MINT}`);
    await eventually('the page is in work', () => service.depth.reads.length > 0);
    let closed = false;
    const closing = service.server.close().then(() => (closed = true));
    await expect(RawClient.connect(service.server.port)).rejects.toThrow(/ECONNREFUSED/);
    expect(closed).toBe(false);
    resume();
    const response = await page;
    expect(response.headers.get('connection')).toBe('close');
    expect((await response.json()) as object).toMatchObject({ snapshot_count: 287 });
    await closing;
    await service.server.close();
  });

  it('cuts off what does not end in time', async () => {
    const service = await start({ limits: { drainLimitMs: 100 } });
    const resume = holdReads(service);
    const page = service.get(`/replay/${MINT}`);
    const failure = expect(page).rejects.toThrow();
    await eventually('the page is in work', () => service.depth.reads.length === 1);
    await service.server.close();
    await failure;
    expect(service.logged.at(-1)).toContain('cut off');
    resume();
  });

  it('releases the port even while clients keep their connections', async () => {
    const service = await start();
    const [port] = await freePorts(1);
    for (let round = 0; round < 3; round++) {
      const server = await startAt(service, '127.0.0.1', port);
      expect(server.port).toBe(port);
      const client = await RawClient.connect(port);
      client.send(requestText('GET /nowhere'));
      await client.until('not_found');
      await server.close();
      await client.closed;
    }
  });
});

it('clocks stand still or run', () => {
  expect(frozenClock(1.9).nowS()).toBe(1);
  const beforeS = Math.floor(Date.now() / 1000);
  const nowS = systemClock.nowS();
  expect(nowS).toBeGreaterThanOrEqual(beforeS);
  expect(nowS).toBeLessThanOrEqual(Date.now() / 1000);
});

async function startAt(service: TestService, host: string, port: number) {
  return startServer({
    keys: new MemoryKeys(),
    handlers: service.handlers,
    host,
    port,
    logger: NO_LOGGER,
  });
}
