import { afterEach, describe, expect, it, vi } from 'vitest';
import { ChainReader, type PoolsAtHeight } from '../../collect/chains/chain-reader.js';
import type { PoolState } from '../../collect/chains/pool-state.js';
import { letPass } from '../support/waiting.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const NOW_S = 1_794_000_000;
const state = (name: string): PoolState => ({
  layout: 'clmm',
  sides: [
    { address: name, decimals: 0, symbol: null },
    { address: 'quote', decimals: 0, symbol: null },
  ],
  fields: {},
});

/** A reader of pools by name, with what it read. */
function open(everyS = 60) {
  const readings: (readonly string[])[] = [];
  const chain = {
    height: 1,
    timeS: NOW_S,
    answer: (pools: readonly string[], _signal: AbortSignal): Promise<PoolsAtHeight> =>
      Promise.resolve({
        height: chain.height,
        timeS: chain.timeS,
        states: pools.map((name) => (name === 'broken' ? new Error('no pool') : state(name))),
      }),
  };
  const reader = new ChainReader<string>(
    (pools, signal) => {
      readings.push(pools);
      return chain.answer(pools, signal);
    },
    everyS,
    () => NOW_S,
  );
  const ask = (pool: string, t: number) =>
    reader.stateAt(pool, t).then(
      ({ state: found }) => found.sides[0].address,
      (error: Error) => error.message,
    );
  return { reader, readings, chain, ask };
}

describe('the pools of a token', () => {
  it('are read once for all that ask for the same moment', async () => {
    const { reader, readings, ask } = open();
    for (const pool of ['a', 'b', 'c']) reader.add(pool);
    expect(await Promise.all([ask('b', 60), ask('a', 60)])).toEqual(['b', 'a']);
    expect(await ask('c', 60)).toBe('c');
    expect(readings).toEqual([['a', 'b', 'c']]);
    await ask('a', 120);
    expect(readings.length).toBe(2);
  });

  it('are read together where each is added just before it is asked for', async () => {
    const { reader, readings, ask } = open();
    const asked = ['a', 'b', 'c'].map((pool) => {
      reader.add(pool);
      return ask(pool, 0);
    });
    expect(await Promise.all(asked)).toEqual(['a', 'b', 'c']);
    expect(readings).toEqual([['a', 'b', 'c']]);
    reader.add('late');
    expect(await ask('late', 0)).toBe('late');
    expect(readings.length).toBe(2);
  });

  it('have their own faults', async () => {
    const { reader, ask } = open();
    for (const pool of ['a', 'broken']) reader.add(pool);
    expect(await Promise.all([ask('a', 60), ask('broken', 60)])).toEqual(['a', 'no pool']);
  });

  it('are read again after a failure', async () => {
    const { reader, chain, ask } = open();
    reader.add('a');
    const { answer } = chain;
    chain.answer = () => Promise.reject(new Error('HTTP 503'));
    expect(await ask('a', 0)).toBe('HTTP 503');
    chain.answer = answer;
    expect(await ask('a', 0)).toBe('a');
  });

  it('are not waited for beyond the next moment, nor once all are removed', async () => {
    const { reader, chain, ask } = open();
    reader.add('a');
    const { answer } = chain;
    chain.answer = (_pools, signal) =>
      new Promise((_, failed) =>
        signal.addEventListener('abort', () => failed(signal.reason as Error)),
      );
    const first = ask('a', 60);
    const second = ask('a', 120);
    expect(await first).toBe('not read within the interval');
    reader.remove('a');
    expect(await second).toContain('aborted');
    chain.answer = answer;
  });
});

describe('a node', () => {
  it('that has stopped following its chain is stale', async () => {
    const { reader, chain, ask } = open();
    reader.add('a');
    chain.timeS = NOW_S - 300;
    expect(await ask('a', 60)).toBe('a');
    chain.timeS = NOW_S - 301;
    expect(await ask('a', 120)).toBe('block 1 is 301 s old: the node does not follow');
  });

  it.each([
    [1, 59_000, 61_000],
    [60, 179_000, 181_000],
  ])('every %i s: no new block for 3 intervals and a minute is stale', async (every, ok, late) => {
    const { reader, chain, ask } = open(every);
    reader.add('a');
    expect(await ask('a', 60)).toBe('a');
    letPass(ok);
    expect(await ask('a', 100)).toBe('a');
    vi.restoreAllMocks();
    letPass(late);
    expect(await ask('a', 120)).toMatch(/^no block after 1 for \d+ s$/);
    chain.height = 0;
    expect(await ask('a', 180)).toMatch(/^no block after 1 for \d+ s$/);
    chain.height = 2;
    expect(await ask('a', 240)).toBe('a');
  });
});
