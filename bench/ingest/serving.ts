/** Ingests files into a running server, and measures how long each blocks its event loop. */
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_S } from '../../compute/time.js';
import { START_S } from '../data/pages.js';
import { startBenchServer, type BenchServer } from '../http/server.js';
import type { LoopDelay } from '../http/loop-probe.js';
import { aligned, figure } from '../report.js';
import { openStore } from '../store.js';
import { command } from './command.js';
import { makeInput, type InputName } from './inputs.js';

/** No work may block the event loop for longer. */
const STALL_LIMIT_MS = 20;

interface ServedIngest {
  name: InputName;
  rows: number;
  cells: number;
  /** Duration of the command, from start to end. */
  commandS: number;
  /** From the command's end until the server was idle. */
  settledS: number;
  loop: LoopDelay;
}

/** The server is idle when it has used less than this share of a core for QUIET_MS. */
const QUIET_SHARE = 0.1;
const QUIET_MS = 1_500;
const SMOKE_QUIET_MS = 250;
const LOOK_MS = 250;
const SETTLE_DEADLINE_MS = 60_000;

/** Ingests a file of each name into one server, one after the other. */
export async function ingestServing(
  { names, cells, smoke }: { names: readonly InputName[]; cells: number; smoke: boolean },
  folder: { data: string; files: string },
  onStep: (name: string) => void,
): Promise<ServedIngest[]> {
  await (await openStore(folder.data)).close();
  const server = await startBenchServer(folder.data, START_S + 30 * DAY_S, {
    probeLoop: true,
    smoke,
  });
  try {
    const results: ServedIngest[] = [];
    for (const name of names) {
      onStep(`${name}: writing the file`);
      const input = await makeInput(name, cells, folder.files);
      onStep(`${name}: into the server`);
      server.resetLoopDelay();
      const began = performance.now();
      const { report } = await command(input, folder.data);
      const ended = performance.now();
      const settledS = (await quiet(server, ended, smoke ? SMOKE_QUIET_MS : QUIET_MS)) / 1000;
      const commandS = (ended - began) / 1000;
      const loop = await server.loopDelay();
      const [{ rows, cells: read }] = report.files;
      results.push({ name, rows, cells: read, commandS, settledS, loop });
      await rm(input.file);
    }
    return results;
  } finally {
    await server.stop();
  }
}

/** Waits until boards and everything else that follows a commit are done. @returns milliseconds */
async function quiet(server: BenchServer, sinceMs: number, forMs: number): Promise<number> {
  let [cpuMs, quietSinceMs] = [server.cpuMs() ?? 0, performance.now()];
  for (;;) {
    await sleep(LOOK_MS);
    const nowMs = performance.now();
    const spentMs = (server.cpuMs() ?? 0) - cpuMs;
    cpuMs += spentMs;
    if (spentMs > QUIET_SHARE * LOOK_MS) quietSinceMs = nowMs;
    if (nowMs - quietSinceMs >= forMs || nowMs - sinceMs > SETTLE_DEADLINE_MS) {
      return quietSinceMs - sinceMs;
    }
  }
}

const COLUMNS = (
  'file,rows,M cells,command s,settled s,longest ms,busy longest,busy p99.9,busy s,' +
  `collector longest,over ${STALL_LIMIT_MS} ms`
).split(',');

export const SERVING_FOOTER =
  "longest: the longest time that the server's event loop was blocked, waits for a core included; busy: by its " +
  'own work, garbage collection included, which hardly depends on what else runs. The server holds the files of ' +
  'all rows above. settled: until boards, scores and everything else that follows a commit was done.';

export function servingTable(results: readonly ServedIngest[]): string[] {
  return aligned([COLUMNS, ...results.map(cellsOf)], ['file', COLUMNS[COLUMNS.length - 1]]);
}

function cellsOf({ name, rows, cells, commandS, settledS, loop }: ServedIngest): string[] {
  const { busy, collector } = loop;
  const isOver = (busy?.maxMs ?? loop.maxMs) > STALL_LIMIT_MS;
  return [
    name,
    String(rows),
    cells === 0 ? '' : figure(cells / 1e6),
    ...[commandS, settledS, loop.maxMs].map(figure),
    ...(busy === null ? ['', '', ''] : [busy.maxMs, busy.p999Ms, busy.totalMs / 1000].map(figure)),
    figure(collector.maxMs),
    isOver ? 'yes' : '',
  ];
}
