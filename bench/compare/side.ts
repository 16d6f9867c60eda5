/** One of the two builds: a process that loads groups and takes turns as it is told to. */
import { percentile, type BenchCase } from '../case.js';
import { loadGroup, type LoadedGroup, type LoadedGroupName } from '../groups.js';
import type { LoadedCase, SideReply, SideRequest } from './protocol.js';

const WARMUPS = 5;
/** Tokens of the store that steps work on. */
const STORE_TOKENS = 8;
let group: LoadedGroup | null = null;

async function answer(request: SideRequest): Promise<SideReply> {
  switch (request.kind) {
    case 'load':
      return load(request.group as LoadedGroupName);
    case 'turn':
      return { kind: 'turn', medianMs: await takeTurn(caseOf(request.name), request.turnMs) };
    case 'unload':
      await group?.close();
      group = null;
      return { kind: 'unloaded' };
  }
}

async function load(name: LoadedGroupName): Promise<SideReply> {
  try {
    group = await loadGroup(name, STORE_TOKENS);
    const cases: LoadedCase[] = [];
    for (const one of group.cases) cases.push(await firstResult(one));
    return { kind: 'loaded', cases };
  } catch (error) {
    return { kind: 'lacks', reason: error instanceof Error ? error.message : String(error) };
  }
}

async function firstResult(one: BenchCase): Promise<LoadedCase> {
  const result = await one.run();
  for (let i = 1; i < WARMUPS; i++) await one.run();
  return { name: one.name, hash: one.digest(result), counters: one.counters?.(result) ?? {} };
}

function caseOf(name: string): BenchCase {
  const found = group?.cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no case ${name} is loaded`);
  return found;
}

/** The median of as many operations as fit into the turn, one at least. */
async function takeTurn({ run }: BenchCase, turnMs: number): Promise<number> {
  const times: number[] = [];
  for (const end = performance.now() + turnMs; ;) {
    const before = performance.now();
    await run();
    const after = performance.now();
    times.push(after - before);
    if (after >= end) return percentile(Float64Array.from(times).sort(), 0.5);
  }
}

process.on('message', (request: SideRequest) => {
  void answer(request).then((reply) => process.send?.(reply));
});
// The comparison is gone: nobody would ever stop this process.
process.on('disconnect', () => process.exit());
