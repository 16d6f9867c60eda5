import { describe, expect, it } from 'vitest';
import {
  JobQueue,
  PoolBusyError,
  Scheduler,
  workLimits,
  type WorkLimits,
} from '../../compute/scheduler.js';

/** A client that stays until the test ends it. */
class TestClient {
  aborted = false;
  private gone = () => {};

  onGone(listener: () => void): void {
    this.gone = listener;
  }

  go(): void {
    this.aborted = true;
    this.gone();
  }
}

/** A queue whose pages end when the test says so, with a clock moved by the test. */
class Desk {
  nowMs = 0;
  readonly queue: JobQueue;
  /** Pages in work, in the order in which they began. */
  readonly inWork: { key: string; end: () => void }[] = [];

  constructor(limits: Partial<WorkLimits> = {}) {
    const { page } = workLimits(1);
    this.queue = new JobQueue({ ...page, inWork: 1, ...limits }, () => this.nowMs);
  }

  page(key: string, client = new TestClient()): Promise<string | null> {
    const job = async () => {
      await new Promise<void>((end) => this.inWork.push({ key, end }));
      return key;
    };
    return this.queue.run(key, job, client);
  }

  pages(key: string, count: number): Promise<(string | null)[]> {
    return Promise.all(Array.from({ length: count }, () => this.page(key)));
  }

  /** Ends the page that has been in work for longest, after a given time. @returns its key */
  async endOne(tookMs = 10): Promise<string> {
    await settled();
    this.nowMs += tookMs;
    const { key, end } = this.inWork.shift() as { key: string; end: () => void };
    end();
    await settled();
    return key;
  }

  async endAll(): Promise<string[]> {
    const keys: string[] = [];
    await settled();
    while (this.inWork.length > 0) keys.push(await this.endOne());
    return keys;
  }
}

/** Lets promises settle in sequence: a page's end, the queue's, the next page's beginning. */
const settled = (): Promise<void> => new Promise(setImmediate);

describe('keys with waiting pages', () => {
  it('take equal turns: a key with 50 pages delays another by one page at most', async () => {
    const desk = new Desk();
    const heavy = desk.pages('heavy', 50);
    for (let page = 0; page < 10; page++) {
      const light = desk.page('light');
      // The page in work, and no other page of the heavy key, precedes the light one's.
      expect([await desk.endOne(), await desk.endOne()]).toEqual(['heavy', 'light']);
      expect(await light).toBe('light');
    }
    expect(await desk.endAll()).toEqual(Array(40).fill('heavy'));
    expect(await heavy).toHaveLength(50);
    expect([desk.queue.waitingJobs, desk.queue.jobsInWork]).toEqual([0, 0]);
  });

  it('take turns if all have many, each with its pages in order of arrival', async () => {
    const desk = new Desk();
    void desk.pages('a', 4);
    void desk.pages('b', 3);
    void desk.pages('c', 3);
    expect((await desk.endAll()).join('')).toBe('abcabcabca');
  });

  it('get equal time, not equal numbers: cheap pages do not wait for as many expensive ones', async () => {
    const desk = new Desk();
    void desk.pages('dear', 12);
    void desk.pages('cheap', 100);
    const done = { dear: 0, cheap: 0 };
    await settled();
    while (done.dear < 6) {
      const key = desk.inWork[0].key as keyof typeof done;
      done[key]++;
      await desk.endOne(key === 'dear' ? 100 : 10);
    }
    // Ten cheap ones for each expensive one except the first, which began alone. A page's time is estimated when it begins,
    // so this is never quite even.
    expect(done.cheap).toBeGreaterThanOrEqual(40);
    expect(done.cheap).toBeLessThanOrEqual(60);
  });

  it('accumulate nothing while none wait', async () => {
    const desk = new Desk({ inWork: 2 });
    const steady = desk.pages('steady', 30);
    // In work all the time, without waiting pages.
    await desk.endOne();
    const idle = desk.pages('idle', 1);
    for (let i = 0; i < 10; i++) await desk.endOne();
    void desk.pages('idle', 20);
    const next: string[] = [];
    for (let i = 0; i < 12; i++) next.push(await desk.endOne());
    expect(next.filter((key) => key === 'idle').length).toBeLessThanOrEqual(7);
    await desk.endAll();
    await Promise.all([steady, idle]);
  });
});

describe('a page that would wait too long', () => {
  it('is refused on arrival, by the time of recent pages and the number ahead', async () => {
    const desk = new Desk({ inWork: 2, maxExpectedWaitMs: 1000 });
    for (let i = 0; i < 80; i++) {
      void desk.page('a');
      await desk.endOne(380);
    }
    expect(desk.queue.expectedWaitMs('a')).toBe(0);
    void desk.pages('a', 2 + 4);
    // Four ahead plus its own: five pages of 380 ms, two at a time.
    expect(desk.queue.expectedWaitMs('a')).toBeCloseTo(950, 0);
    void desk.page('a');
    await expect(desk.page('a')).rejects.toThrow(PoolBusyError);
    // Another key's turn comes after one page of the first key.
    expect(desk.queue.expectedWaitMs('b')).toBeCloseTo(380, 0);
    const other = desk.page('b');
    await desk.endAll();
    expect(await other).toBe('b');
  });

  it('is refused if the pages in work do not end, whatever earlier ones took', async () => {
    const desk = new Desk({ maxExpectedWaitMs: 1000 });
    void desk.pages('a', 2);
    await desk.endOne(10);
    expect(desk.queue.expectedWaitMs('a')).toBeLessThan(10);
    desk.nowMs += 1001;
    await expect(desk.page('b')).rejects.toThrow(PoolBusyError);
    await desk.endAll();
    void desk.page('b');
    await settled();
    expect(desk.inWork.map(({ key }) => key)).toEqual(['b']);
    await desk.endAll();
  });
});

describe('the queue', () => {
  it('limits the waiting pages per key and in total; pages in work do not count', async () => {
    const desk = new Desk({ inWork: 2, maxWaiting: 5, maxWaitingPerKey: 3 });
    const taken = [desk.pages('a', 2 + 3)];
    await expect(desk.page('a')).rejects.toThrow(PoolBusyError);
    taken.push(desk.pages('b', 2));
    expect(desk.queue.waitingJobs).toBe(5);
    await expect(desk.page('c')).rejects.toThrow(PoolBusyError);
    expect(desk.queue.jobsInWork).toBe(2);
    await desk.endOne();
    taken.push(desk.pages('c', 1));
    expect(desk.queue.jobsInWork).toBe(2);
    await desk.endAll();
    expect((await Promise.all(taken)).flat()).toEqual(['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c']);
  });

  it('drops a waiting page if its client disconnects, and keeps nothing of its key', async () => {
    const desk = new Desk({ maxWaiting: 1 });
    const client = new TestClient();
    void desk.pages('a', 1);
    const waiting = desk.page('gone', client);
    await expect(desk.page('b')).rejects.toThrow(PoolBusyError);
    client.go();
    expect(await waiting).toBeNull();
    expect(desk.queue.waitingJobs).toBe(0);
    const after = desk.page('b');
    expect(await desk.endAll()).toEqual(['a', 'b']);
    expect(await after).toBe('b');
  });

  it('does not begin a page whose client has already disconnected', async () => {
    const desk = new Desk();
    const client = new TestClient();
    client.go();
    expect(await desk.page('a', client)).toBeNull();
    expect(desk.queue.jobsInWork).toBe(0);
  });

  it('continues after a page that fails', async () => {
    const desk = new Desk();
    const failing = desk.queue.run('a', () => Promise.reject(new Error('no')), null);
    const next = desk.page('a');
    await expect(failing).rejects.toThrow('no');
    await desk.endAll();
    expect(await next).toBe('a');
  });

  it('keeps threads busy while others read, and leaves room for other tasks', () => {
    expect([1, 2, 4, 16].map((threads) => workLimits(threads).page.inWork)).toEqual([2, 3, 6, 24]);
  });
});

describe('classes of work', () => {
  const never = () => new Promise<void>(() => {});

  it('have separate slots: pages that fill theirs delay no boards or commits', async () => {
    const scheduler = new Scheduler(1);
    for (let page = 0; page < 20; page++) void scheduler.run('page', 'a', never, null);
    expect(scheduler.waiting('page')).toBe(18);
    const done = (text: string) => () => Promise.resolve(text);
    expect(await scheduler.run('board', 'b', done('board'), null)).toBe('board');
    expect(await scheduler.run('commit', 'c', done('commit'), null)).toBe('commit');
  });

  it('delay fragments until a thread is idle, but not forever', async () => {
    const scheduler = new Scheduler(1);
    const began: string[] = [];
    const fragments = () => {
      began.push('fragments');
      return Promise.resolve();
    };
    let end = () => {};
    const page = scheduler.run('page', 'a', () => new Promise<void>((ends) => (end = ends)), null);
    const first = scheduler.run('fragments', 'f', fragments, null);
    await settled();
    expect(began).toEqual([]);
    end();
    await page;
    await settled();
    expect(began).toEqual(['fragments']);
    await first;
    void scheduler.run('page', 'a', never, null);
    await scheduler.run('fragments', 'f', fragments, null);
    expect(began).toHaveLength(2);
  });
});
