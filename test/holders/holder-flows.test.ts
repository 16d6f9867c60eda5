/** How flows are kept, shared and recomputed; with the real pool's tasks, on this thread. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HolderFlow, holderFlow, type HolderFlowInput } from '../../compute/holders/flow.js';
import type { ComputePool } from '../../compute/pool.js';
import { Scheduler, type Work } from '../../compute/scheduler.js';
import { HolderFlows } from '../../server/holders/holder-flows.js';
import { loggerInto } from '../support/logger.js';
import { MemoryHolders } from '../support/memory-sources.js';

const NOW_S = 1_794_659_696;
const MINT = 'A'.repeat(40);
const OTHER = 'B'.repeat(40);
const rows = (...held: [number, number][]) =>
  held.map(([t, balance]) => ({ t, owner: 'Owner', balance }));

let source: MemoryHolders;
let time: { nowS: number };
let logged: string[];
let tasks: number;
let flows: HolderFlows;

beforeEach(() => {
  source = new MemoryHolders();
  source.set(MINT, rows([NOW_S - 100, 5]));
  source.set(OTHER, rows([NOW_S - 100, 7]));
  time = { nowS: NOW_S };
  logged = [];
  tasks = 0;
  flows = makeFlows();
});
afterEach(() => flows.close());

function makeFlows(maxKeptBytes?: number): HolderFlows {
  const run = (_: string, input: HolderFlowInput) => {
    tasks++;
    return Promise.resolve(holderFlow(input));
  };
  const scheduler = new Scheduler(1);
  const pool = {
    schedule: (work: Work, key: string, job: (task: typeof run) => Promise<unknown>) =>
      scheduler.run(work, key, () => job(run), null),
  } as unknown as Pick<ComputePool, 'schedule'>;
  const clock = { nowS: () => time.nowS };
  const logger = loggerInto(logged);
  return new HolderFlows({
    source,
    pool,
    clock,
    logger,
    maxKeptBytes,
  });
}

const balance = (found: HolderFlow | null) => found && found.wallets[0].balance;

/** Requests immediately; always returns a promise. */
const ask = (mint: string): Promise<HolderFlow | null> => Promise.resolve(flows.get(mint));

/** A gate at which reads of the source wait. */
function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let reached = (): void => undefined;
  const atGate = new Promise<void>((resolve) => (reached = resolve));
  source.beforeRead = () => {
    reached();
    return opened;
  };
  return { open, atGate };
}

describe('a flow', () => {
  it('is computed once, and then available without a promise', async () => {
    expect(balance(await flows.get(MINT))).toBe(5);
    const kept = flows.get(MINT);
    expect(kept).not.toBeInstanceOf(Promise);
    expect(kept).toBe(await flows.get(MINT));
    expect([tasks, source.reads]).toEqual([1, [MINT]]);
  });

  it('is shared by all requests while it is computed', async () => {
    const { open, atGate } = gate();
    const requests = [ask(MINT), ask(MINT)];
    await atGate;
    requests.push(ask(MINT));
    open();
    const found = await Promise.all(requests);
    expect(new Set(found).size).toBe(1);
    expect(tasks).toBe(1);
  });

  it('of a token without a visible snapshot is null, and nothing is kept for it', async () => {
    source.set(OTHER, rows([NOW_S + 1, 7]));
    expect(await flows.get(OTHER)).toBeNull();
    expect(await flows.get('C'.repeat(40))).toBeNull();
    expect([flows.keptFlows, tasks]).toEqual([0, 0]);
  });

  it('changes as soon as the clock makes another snapshot visible', async () => {
    source.set(MINT, rows([NOW_S - 100, 5], [NOW_S + 10, 6], [NOW_S + 20, 8]));
    expect(balance(await flows.get(MINT))).toBe(5);
    time.nowS = NOW_S + 9;
    expect(flows.get(MINT)).not.toBeInstanceOf(Promise);
    time.nowS = NOW_S + 10;
    expect(balance(await flows.get(MINT))).toBe(6);
    time.nowS = NOW_S + 1000;
    expect(balance(await flows.get(MINT))).toBe(8);
    time.nowS = NOW_S + 1_000_000;
    expect(flows.get(MINT)).not.toBeInstanceOf(Promise);
    expect(tasks).toBe(3);
  });

  it('of many tokens is read for only a few at a time', async () => {
    let reading = 0;
    let most = 0;
    source.beforeRead = async () => {
      most = Math.max(most, ++reading);
      await new Promise((resolve) => setImmediate(resolve));
      reading--;
    };
    const mints = Array.from({ length: 20 }, (_, i) => `Mint${i}`);
    mints.forEach((mint, i) => source.set(mint, rows([NOW_S, i + 1])));
    const found = await Promise.all(mints.map(ask));
    expect(found.map(balance)).toEqual(mints.map((_, i) => i + 1));
    expect(most).toBe(4);
  });

  it('is dropped before others that were requested later, if too many are kept', async () => {
    flows = makeFlows(1);
    await flows.get(MINT);
    await flows.get(OTHER);
    expect(flows.keptFlows).toBe(1);
    expect(flows.get(OTHER)).not.toBeInstanceOf(Promise);
    expect(flows.get(MINT)).toBeInstanceOf(Promise);
  });
});

describe('a change of holders', () => {
  it('is computed in the background if the token was requested', async () => {
    await flows.get(MINT);
    source.set(MINT, rows([NOW_S - 100, 5], [NOW_S, 9]));
    flows.touch([MINT, OTHER]);
    await flows.settled();
    const found = flows.get(MINT);
    expect(found).not.toBeInstanceOf(Promise);
    expect(balance(found as HolderFlow)).toBe(9);
    expect(source.reads).toEqual([MINT, MINT]);
  });

  it('is seen by the next request, which does not wait for the background', async () => {
    const before = await flows.get(MINT);
    source.set(MINT, rows([NOW_S, 9]));
    flows.touch([MINT]);
    const after = await flows.get(MINT);
    expect(balance(after)).toBe(9);
    expect(after).not.toBe(before);
    await flows.settled();
    expect(tasks).toBe(2);
  });

  it('while a flow is computed makes the result valid only for earlier requests', async () => {
    const { open, atGate } = gate();
    const early = flows.get(MINT);
    await atGate;
    source.set(MINT, rows([NOW_S - 100, 5], [NOW_S, 9]));
    flows.touch([MINT]);
    const late = [ask(MINT), ask(MINT)];
    open();
    expect(await early).not.toBeNull();
    expect((await Promise.all(late)).map(balance)).toEqual([9, 9]);
    expect(balance(await flows.get(MINT))).toBe(9);
    expect(tasks).toBe(2);
  });

  it('while a flow is computed is not lost if nobody requests it before it is done', async () => {
    const { open, atGate } = gate();
    const early = flows.get(MINT);
    await atGate;
    source.set(MINT, rows([NOW_S - 100, 5], [NOW_S, 9]));
    flows.touch([MINT]);
    open();
    await early;
    expect(balance(await flows.get(MINT))).toBe(9);
  });

  it('never makes a token be read twice at the same time', async () => {
    let reading = 0;
    let most = 0;
    source.beforeRead = async () => {
      most = Math.max(most, ++reading);
      await new Promise((resolve) => setImmediate(resolve));
      reading--;
    };
    const requests = [];
    for (let i = 0; i < 5; i++) {
      requests.push(ask(MINT));
      await new Promise((resolve) => setImmediate(resolve));
      flows.touch([MINT]);
    }
    await Promise.all(requests);
    expect(most).toBe(1);
  });

  it('is one of many in a row: a few computations cover all of them, the last one the newest', async () => {
    await flows.get(MINT);
    const { open, atGate } = gate();
    flows.touch([MINT]);
    await atGate;
    for (let i = 1; i <= 50; i++) {
      source.set(MINT, rows([NOW_S - 100 + i, i]));
      flows.touch([MINT]);
    }
    open();
    await flows.settled();
    expect(balance(await flows.get(MINT))).toBe(50);
    expect(tasks).toBeLessThanOrEqual(4);
  });

  it('between the two reads of a token, of its times and of its blocks, makes both run again', async () => {
    let reads = 0;
    source.beforeRead = () => {
      if (++reads === 1) source.set(MINT, rows([NOW_S - 50, 6]));
    };
    expect(balance(await flows.get(MINT))).toBe(6);
    expect(reads).toBe(2);
  });
});

describe('a failing computation', () => {
  it('fails its requests, and the next request tries again', async () => {
    source.beforeRead = () => {
      throw new Error('damaged');
    };
    await expect(flows.get(MINT)).rejects.toThrow('damaged');
    source.beforeRead = () => undefined;
    expect(balance(await flows.get(MINT))).toBe(5);
    source.beforeRead = () => {
      throw new Error('damaged again');
    };
    flows.touch([MINT]);
    await flows.settled();
    expect(logged.join()).toContain('damaged again');
    await expect(flows.get(MINT)).rejects.toThrow('damaged again');
    source.beforeRead = () => undefined;
    expect(balance(await flows.get(MINT))).toBe(5);
  });

  it('gives up if the planned snapshots are gone at every attempt to read them', async () => {
    let t = NOW_S - 1000;
    source.beforeRead = () => source.set(MINT, rows([t++, 6]));
    await expect(flows.get(MINT)).rejects.toThrow('were removed before each attempt to read them');
  });
});

it('closing waits for running work', async () => {
  const { open, atGate } = gate();
  const flow = flows.get(MINT);
  await atGate;
  let closed = false;
  const closing = flows.close().then(() => (closed = true));
  await Promise.resolve();
  expect(closed).toBe(false);
  open();
  await closing;
  expect(balance(await flow)).toBe(5);
});
