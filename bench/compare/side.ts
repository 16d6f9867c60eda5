/** One of the two builds: a process that loads groups and takes turns on request. */
import { median, type BenchCase, type LoadedGroup } from '../case.js';
import { messageOf } from '../errors.js';
import { loadGroup, type LoadedGroupName } from '../groups.js';
import type { Counters, LoadedCase, SideFailure, SideReply, SideRequest } from './protocol.js';

const WARMUPS = 5;
/** Tokens of the store used by the group of steps. */
const STORE_TOKENS = 8;
let group: LoadedGroup | null = null;

async function answer(request: SideRequest): Promise<SideReply> {
  try {
    return await work(request);
  } catch (error) {
    return { kind: 'failed', reason: messageOf(error) };
  }
}

async function work(request: SideRequest): Promise<SideReply> {
  switch (request.kind) {
    case 'load':
      return load(request.group as LoadedGroupName);
    case 'turn':
      return { kind: 'turn', medianMs: await takeTurn(caseOf(request.name), request.turnMs) };
    case 'hash': {
      const one = caseOf(request.name);
      return { kind: 'hash', hash: one.digest(await one.run()) };
    }
    case 'unload': {
      const loaded = group;
      group = null;
      await loaded?.close();
      return { kind: 'unloaded' };
    }
  }
}

/** Loads a group. A case that fails does not affect the others. */
async function load(name: LoadedGroupName): Promise<SideReply> {
  group = await loadGroup(name, STORE_TOKENS);
  const parts = group.failures ?? [];
  const failures: SideFailure[] = parts.map(({ part, reason }) => ({
    what: `${name}, ${part}`,
    reason,
  }));
  const cases: LoadedCase[] = [];
  for (const one of group.cases) {
    try {
      cases.push(await firstResult(one));
    } catch (error) {
      failures.push({ what: one.name, reason: messageOf(error) });
    }
  }
  return { kind: 'loaded', whole: parts.length === 0, cases, failures };
}

async function firstResult(one: BenchCase): Promise<LoadedCase> {
  const result = await one.run();
  for (let i = 1; i < WARMUPS; i++) await one.run();
  return { name: one.name, hash: one.digest(result), counters: countersOf(one, result) };
}

/** @throws Error if a counter is not a number: its growth would go unnoticed */
function countersOf(one: BenchCase, result: unknown): Counters {
  const counters = one.counters?.(result) ?? {};
  for (const [name, value] of Object.entries(counters)) {
    if (!Number.isFinite(value)) throw new Error(`its counter ${name} is ${value}`);
  }
  return counters;
}

function caseOf(name: string): BenchCase {
  const found = group?.cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no case ${name} is loaded`);
  return found;
}

/** The median of as many operations as fit into the turn, but at least one. */
async function takeTurn({ run }: BenchCase, turnMs: number): Promise<number> {
  const times: number[] = [];
  for (const end = performance.now() + turnMs; ;) {
    const before = performance.now();
    await run();
    const after = performance.now();
    times.push(after - before);
    if (after >= end) return median(times);
  }
}

process.on('message', (request: SideRequest) => {
  void answer(request).then((reply) => process.send?.(reply));
});
// The comparison is gone: nobody else would stop this process.
process.on('disconnect', () => process.exit());
