/** Fragments over files in a test's own data directory, and the pages that they must equal. */
import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type ComputePool, startPool } from '../../compute/pool.js';
import { packFragments } from '../../compute/replay/fragment-file.js';
import { makeFragments } from '../../compute/replay/fragment-maker.js';
import { marketsOfPage } from '../../compute/replay/names.js';
import { renderPage } from '../../compute/replay/render.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import type { Logger } from '../../server/logger.js';
import { Fragments } from '../../server/replay/fragments.js';
import { readOfPlan } from '../../server/replay/page-plan.js';
import type { PageIdentity } from '../../server/replay/entity-tag.js';
import type { DepthSource } from '../../storage/contract.js';
import { FileCache, type FileCacheOptions } from '../../storage/file-cache.js';
import { FRAGMENT_FILES, type FragmentFiles } from '../../storage/fragment-files.js';
import type { Store } from '../../storage/store.js';
import { envelopeOf, plainRequest, queryOf, runOf } from '../compute/replay-stores.js';
import type { PlainStore } from '../reference/replay.js';
import { loggerInto } from './logger.js';
import { MemoryDepth } from './memory-depth.js';
import { MINT, NOW_S, steadyStore } from './service.js';
import { DataDirectory, openStore } from './stores.js';

/** The grouping that most tests use. */
export const BY_MARKET = { group: 'market' } as const;

/** What a test uses; all of it is closed after the test. */
export class FragmentsFixture {
  pool!: ComputePool;
  data!: DataDirectory;
  /** What onTrouble reported. */
  troubles: unknown[] = [];
  /** A log line is a failure unless the test takes it. */
  readonly logged: string[] = [];
  /** Another one for each test: a log leaves repeated errors out. */
  logger!: Logger;
  private opened: Fragments[] = [];

  /** Call at the top of a test file. */
  static forEach(): FragmentsFixture {
    const fixture = new FragmentsFixture();
    const onError = (error: Error) => {
      throw error;
    };
    beforeAll(async () => {
      fixture.pool = await startPool({ threads: 1, onError });
    });
    afterAll(() => fixture.pool.close());
    beforeEach(() => {
      fixture.data = new DataDirectory();
      mkdirSync(fixture.data.path);
      fixture.troubles = [];
      fixture.logger = loggerInto(fixture.logged);
    });
    afterEach(async () => {
      await fixture.closeAll();
      expect(fixture.logged.splice(0)).toEqual([]);
    });
    return fixture;
  }

  get folder(): string {
    return path.join(this.data.path, FRAGMENT_FILES.folder);
  }

  /** Names of the files, ascending. */
  names(): string[] {
    return readdirSync(this.folder).sort();
  }

  /** Opens the files as a starting server does. */
  openFiles(options: Partial<FileCacheOptions> = {}): Promise<FragmentFiles> {
    return FileCache.open(FRAGMENT_FILES, {
      directory: this.data.path,
      maxBytes: 2 ** 30,
      keptFreeBytes: 0,
      stored: (ids) => Promise.resolve(new Set(ids)),
      onTrouble: (error) => void this.troubles.push(error),
      ...options,
    });
  }

  open(depth: DepthSource, files: FragmentFiles | null, memoryBytes = 2 ** 26): Fragments {
    const fragments = new Fragments({
      pool: this.pool,
      depth,
      logger: this.logger,
      memoryBytes,
      files,
    });
    this.opened.push(fragments);
    return fragments;
  }

  /** Over a new store, which is closed after all its readers. */
  async withStore(body: (store: Store) => Promise<void>): Promise<void> {
    const store = await openStore(this.data.path);
    try {
      await body(store);
    } finally {
      await this.closeAll();
      await store.close();
    }
  }

  async closeAll(): Promise<void> {
    for (const fragments of this.opened.splice(0)) await fragments.close();
  }
}

interface AskedPage {
  from?: number;
  to?: number;
  group?: 'market' | 'all';
}

/** A page in gzip, of the last day by default. */
export function identityOf({
  from = NOW_S - 86_400,
  to = NOW_S + 1,
  group = 'market',
}: AskedPage = {}): PageIdentity {
  const request = plainRequest(from, to, { group });
  return {
    query: queryOf(request),
    envelope: envelopeOf(request),
    format: 'json',
    encoding: 'gzip',
  };
}

/** A page from fragments, compared with the pool's; null if there is none. */
export async function pageOf(
  fragments: Fragments,
  depth: DepthSource,
  view: AskedPage = {},
): Promise<Uint8Array | null> {
  const { from = NOW_S - 86_400, to = NOW_S + 1 } = view;
  const page = identityOf(view);
  const tokenId = depth.token('mainchain', MINT)?.tokenId as number;
  const plan = await depth.plan({
    tokenId,
    fromS: from,
    toS: to,
    nowS: NOW_S,
    maxSnapshots: 288,
  });
  const made = await fragments.page(plan, page);
  if (made === null) return null;
  const part = readOfPlan(plan, page.query, Infinity);
  const rendered = renderPage({
    ...page,
    ...part,
    encoding: 'identity',
    markets: marketsOfPage(plan.markets, page.query),
    segments: await depth.readSegments(part.segmentIds),
  });
  if (rendered.status !== 'done') throw new Error(rendered.status);
  expect(zlib.gunzipSync(made.body).equals(rendered.body)).toBe(true);
  expect(made.nextFrom).toBe(rendered.nextFrom);
  return made.body;
}

/** Repeats the request until the fragments are there. */
export async function warm(fragments: Fragments, depth: DepthSource): Promise<void> {
  for (let i = 0; i < 2; i++) {
    expect(await pageOf(fragments, depth)).toBeNull();
    await fragments.idle();
  }
}

/** A token's history in segments of some snapshots. */
export function depthOf(store: PlainStore = steadyStore(12, 20), perSegment = 4): MemoryDepth {
  const depth = new MemoryDepth().add('mainchain', MINT, store, { perSegment });
  return depth;
}

/** Fragments of some snapshots as in a file. */
export function packed(segmentId: number, snapshots = 3): Uint8Array {
  const { snapshots: own, markets } = steadyStore(snapshots, 4);
  const segment = encodeSegment(runOf('raw', own));
  const made = makeFragments({ segment, ...BY_MARKET, marketCount: markets.length });
  return packFragments(segmentId, made);
}
