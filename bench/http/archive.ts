/**
 * Measures the rows of the archive on a server of S3 in this process: a walk through archived days, their pages beside
 * those of an equal store without an archive, and bots beside archiving.
 */
import { cpSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3_KEY, S3Server } from '../../test/support/s3-server.js';
import { median } from '../case.js';
import { fathomCommand } from '../command.js';
import { benchAddress, PAGE_A } from '../data/pages.js';
import { BenchFailure } from '../errors.js';
import { temporaryFolder } from '../folder.js';
import { reportProgress } from '../program.js';
import { figure } from '../report.js';
import { load, loadInTurns, metricOf, type Target } from './client.js';
import { latenciesOf } from './generator.js';
import {
  collectFromS,
  figuresOf,
  fragmentFilesMade,
  type HttpEffort,
  measureRow,
  type RowFigures,
  WARM_UP_SHARE,
  watch,
} from './measure.js';
import { botRow, COLD } from './rows.js';
import { type BenchServer, startBenchServer, untilReady } from './server.js';
import { archivedStore, type ArchivedStore, MINUTE_S } from './stores.js';

/** Where the pages of the second group come from. */
const SOURCES = ['store', 'S3', 'files'] as const;
/** What the server does beside bots: it has no archive, archives by itself, or for a command, as fast as it can. */
const BESIDE = ['no archive', 'background', 'archive run'] as const;
/** Rows of a group are measured together. */
const GROUPS = {
  pages: ['archive/walk', ...SOURCES.map((source) => `archive/pages from ${source}`)],
  bots: BESIDE.map((beside) => `archive/bots, ${beside}`),
};
export const ARCHIVE_ROWS = Object.values(GROUPS).flat();

const WALK_CLIENTS = 4;
/** Bots are measured this many times beside each, by turns; the round with the lowest p99 counts. */
const BOT_ROUNDS = 3;
/** Has a coprime stride: successive pages of a token are far apart. */
const PAGE_STRIDE = 131;
const DONE_DEADLINE_MS = 600_000;

export interface ArchiveEffort extends HttpEffort {
  /** Flags of every server. */
  flags: readonly string[];
  tokens: number;
  /** Whole days of each token in the archive. */
  days: number;
}

/** What the rows do not say. */
export interface ArchiveFigures {
  objects: number;
  objectBytes: number;
  cells: number;
  /** Of the server that archives, besides what its start takes. */
  archivingCpuS: number | null;
  /** Of the walk: ranges and bytes that it read of the objects. */
  walkReads: number;
  walkBytes: number;
  /** Of a page from S3. */
  readsPerPage: number;
  /** Median of the differences of the same pages, and the difference of the 99th percentiles. */
  over: Record<'S3' | 'files', { p50Ms: number; p99Ms: number }>;
  /** 1: `archive run` lasted as long as the bots. */
  archivingShare: number;
}

interface ArchiveRow extends RowFigures {
  name: string;
  clients: number;
}

interface MeasuredArchive {
  rows: ArchiveRow[];
  figures: Partial<ArchiveFigures>;
}

/** Measures the groups of these rows. */
export async function measureArchive(
  names: readonly string[],
  effort: ArchiveEffort,
): Promise<MeasuredArchive> {
  const folder = temporaryFolder();
  const s3 = await S3Server.start();
  // Servers inherit them.
  process.env.AWS_ACCESS_KEY_ID = S3_KEY.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = S3_KEY.secretAccessKey;
  try {
    reportProgress('filling a store: archive');
    const place = { directory: path.join(folder.path, 'store'), folder: folder.path };
    const store = await archivedStore(place, effort);
    const bench = new ArchiveBench(store, s3, effort);
    const measured: MeasuredArchive = { rows: [], figures: {} };
    for (const group of ['pages', 'bots'] as const) {
      if (!names.some((name) => GROUPS[group].includes(name))) continue;
      const { rows, figures } = await bench[group]();
      measured.rows.push(...rows);
      Object.assign(measured.figures, figures);
    }
    return measured;
  } finally {
    await s3.close();
    await folder.remove();
  }
}

class ArchiveBench {
  constructor(
    private readonly store: ArchivedStore,
    private readonly s3: S3Server,
    private readonly effort: ArchiveEffort,
  ) {}

  async pages(): Promise<MeasuredArchive> {
    reportProgress('archive/walk');
    const { store, s3 } = this;
    const cold = this.copyOf(store.directory, 'cold');
    const archivingCpuS = await this.archiveAll(cold);
    const objects = [...s3.objects].filter(([key]) => key.includes('/segments/'));
    const objectBytes = objects.reduce((sum, [, { bytes }]) => sum + bytes.length, 0);
    // Before a server opens what is copied.
    const files = this.copyOf(cold, 'files');
    const servers = [
      await this.start(store.directory, COLD),
      await this.start(cold, [...COLD, ...this.archiveFlags, '--archive-cache-gib', '0']),
      await this.start(files, [...COLD, ...this.archiveFlags]),
    ];
    try {
      const [readsBefore, bytesBefore] = [s3.requests.length, s3.readBytes];
      const walk = await this.walk(servers[2]);
      const figures = {
        objects: objects.length,
        objectBytes,
        cells: store.tokens * store.archivedSnapshots * PAGE_A.cells,
        archivingCpuS,
        walkReads: s3.requests.length - readsBefore,
        walkBytes: s3.readBytes - bytesBefore,
      };
      reportProgress('archive/pages');
      const beside = await this.pagesInTurns(servers);
      return { rows: [walk, ...beside.rows], figures: { ...figures, ...beside.figures } };
    } finally {
      for (const server of servers) await server.stop();
    }
  }

  async bots(): Promise<MeasuredArchive> {
    const { store, effort } = this;
    const { smoke } = effort;
    const forMs = effort.forMs / 2;
    const filling = await this.start(store.directory, []);
    await fragmentFilesMade(filling, smoke);
    await filling.stop();
    const found = BESIDE.map((): RowFigures[] => []);
    let archivingShare = 1;
    for (let round = 0; round < (smoke ? 1 : BOT_ROUNDS); round++) {
      // Each goes first at another round.
      for (let i = 0; i < BESIDE.length; i++) {
        const one = (round + i) % BESIDE.length;
        const beside = BESIDE[one];
        reportProgress(GROUPS.bots[one]);
        const directory = this.copyOf(store.directory, 'round');
        const flags = beside === 'no archive' ? [] : this.archiveFlags;
        const server = await this.start(directory, flags);
        const serving = {
          store: { ...store, directory },
          server,
          collectFromS: collectFromS(store),
        };
        const measuredFromMs = performance.now() + WARM_UP_SHARE * forMs;
        let endedMs = Infinity;
        const archiving =
          beside === 'archive run'
            ? archiveRun(directory).then(() => (endedMs = performance.now()))
            : null;
        found[one].push(await measureRow(botRow(smoke), serving, { ...effort, forMs }));
        await archiving;
        archivingShare = Math.min(archivingShare, (endedMs - measuredFromMs) / forMs);
        await server.stop();
        await rm(directory, { recursive: true });
      }
    }
    const rows = found.map((rounds, i): ArchiveRow => {
      const best = rounds.reduce((a, b) => (b.latencies.p99Ms < a.latencies.p99Ms ? b : a));
      return { name: GROUPS.bots[i], clients: botRow(smoke).clients, ...best };
    });
    return { rows, figures: { archivingShare } };
  }

  private get archiveFlags(): string[] {
    const { url, endpoint } = this.s3;
    return [
      ...['--archive-url', url, '--archive-endpoint', endpoint, '--archive-region', 'test'],
      ...['--archive-after', '1h'],
    ];
  }

  private copyOf(directory: string, name: string): string {
    const copy = path.join(this.store.folder, name);
    cpSync(directory, copy, { recursive: true });
    return copy;
  }

  private async start(directory: string, flags: readonly string[]): Promise<BenchServer> {
    const { smoke, flags: all } = this.effort;
    const server = await startBenchServer(directory, this.store.nowS, {
      probeLoop: true,
      smoke,
      flags: [...all, ...flags],
    });
    await untilReady(server.url);
    return server;
  }

  /** Archives every closed day of a store. @returns the CPU time of it, besides that of a server's start */
  private async archiveAll(directory: string): Promise<number | null> {
    const { store, s3 } = this;
    const taken = async (): Promise<number | null> => {
      const flags = [...COLD, ...this.archiveFlags, '--archive-cache-gib', '0'];
      const server = await this.start(directory, flags);
      const deadline = performance.now() + DONE_DEADLINE_MS;
      // The server may still be at the last day that it took itself.
      while ((await archiveRun(directory), s3.objects.size < store.closedDays)) {
        if (performance.now() > deadline) throw new BenchFailure('days are not archived');
        await sleep(50);
      }
      const cpuMs = server.cpuMs();
      await server.stop();
      return cpuMs;
    };
    const [first, again] = [await taken(), await taken()];
    return first === null || again === null ? null : (first - again) / 1000;
  }

  /** Every archived snapshot once, a page after the other. */
  private async walk(server: BenchServer): Promise<ArchiveRow> {
    const { tokens, archivedSnapshots } = this.store;
    const pagesOfToken = Math.ceil(archivedSnapshots / PAGE_A.snapshots);
    const target = this.target(server, (n) => {
      const first = (n % pagesOfToken) * PAGE_A.snapshots;
      return this.pageFrom(Math.floor(n / pagesOfToken), first);
    });
    const spent = watch(server);
    const pages = tokens * pagesOfToken;
    const { sortedMs, elapsedMs, bytes } = await load(target, WALK_CLIENTS, Infinity, pages);
    const figures = figuresOf(pages, elapsedMs, latenciesOf(sortedMs), await spent());
    const [name] = GROUPS.pages;
    return { name, clients: WALK_CLIENTS, ...figures, bytesPerReply: bytes / pages };
  }

  private async pagesInTurns(servers: readonly BenchServer[]): Promise<MeasuredArchive> {
    const { tokens, archivedSnapshots } = this.store;
    const targets = servers.map((server) =>
      this.target(server, (n) => {
        const turn = Math.floor(n / tokens);
        const first = (turn * PAGE_STRIDE) % (archivedSnapshots - PAGE_A.snapshots);
        return this.pageFrom(n % tokens, first);
      }),
    );
    const { forMs } = this.effort;
    await loadInTurns(targets, WARM_UP_SHARE * forMs * servers.length);
    const readsOf = (): Promise<number[]> =>
      Promise.all(servers.map(({ url }) => metricOf(url, 'fathom_archive_reads_total')));
    const before = await readsOf();
    const ends = servers.map(watch);
    const loads = await loadInTurns(targets, forMs * servers.length);
    const spent = await Promise.all(ends.map((end) => end()));
    const reads = (await readsOf()).map((count, i) => count - before[i]);
    if (reads[2] > 0) throw new BenchFailure(`pages from files read ${reads[2]} ranges of objects`);
    const rows = loads.map(({ times, bytes }, i): ArchiveRow => {
      const tookMs = times.reduce((sum, ms) => sum + ms, 0);
      const own = { ...spent[i], tookMs };
      const figures = figuresOf(times.length, tookMs, latenciesOf(times), own);
      return {
        name: GROUPS.pages[1 + i],
        clients: 1,
        ...figures,
        bytesPerReply: bytes / times.length,
      };
    });
    const overStore = (i: number) => ({
      p50Ms: median(loads[i].times.map((ms, n) => ms - loads[0].times[n])),
      p99Ms: rows[i].latencies.p99Ms - rows[0].latencies.p99Ms,
    });
    return {
      rows,
      figures: {
        readsPerPage: reads[1] / loads[1].times.length,
        over: { S3: overStore(1), files: overStore(2) },
      },
    };
  }

  private pageFrom(token: number, first: number): string {
    const { fromS, archivedSnapshots } = this.store;
    const end = Math.min(archivedSnapshots, first + PAGE_A.snapshots);
    const window = `from=${fromS + first * MINUTE_S}&to=${fromS + end * MINUTE_S}`;
    return `/api/v1/replay/${benchAddress(token)}?group=market&${window}`;
  }

  private target({ url }: BenchServer, pathOf: Target['pathOf']): Target {
    const headers = { 'x-api-key': this.store.key, 'accept-encoding': 'gzip' };
    return { url, pathOf, headers, status: 200 };
  }
}

const archiveRun = (directory: string) => fathomCommand(['archive', 'run', '--data', directory]);

/** The figures that are not in the table, as lines. */
export function archiveLines(found: Partial<ArchiveFigures>): string[] {
  const { objects, objectBytes, cells, archivingCpuS, walkBytes, walkReads, over } = found;
  const lines: string[] = [];
  if (objects !== undefined && objectBytes !== undefined && cells !== undefined) {
    const perMillion =
      typeof archivingCpuS === 'number'
        ? `, ${figure((1e6 * archivingCpuS) / cells)} s of CPU per million cells`
        : '';
    lines.push(
      `archived: ${figure(cells / 1e6)} million cells in ${objects} objects of ${figure(objectBytes / 1e6)} MB${perMillion}`,
    );
    const times = (walkBytes ?? NaN) / objectBytes;
    lines.push(
      `the walk read ${walkReads} ranges, ${figure((walkBytes ?? NaN) / 1e6)} MB: ${times.toFixed(3)} times the objects' bytes`,
    );
  }
  for (const [source, { p50Ms, p99Ms }] of Object.entries(over ?? {})) {
    lines.push(
      `a page from ${source}, over one from the store: ${figure(p50Ms)} ms (p50), ${figure(p99Ms)} ms (p99)`,
    );
  }
  if (found.readsPerPage !== undefined) {
    lines.push(`a page from S3 reads ${figure(found.readsPerPage)} ranges`);
  }
  if (found.archivingShare !== undefined) {
    lines.push(`archiving lasted for ${figure(100 * found.archivingShare)}% of the bots' time`);
  }
  return lines;
}
