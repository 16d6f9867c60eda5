/** The steps of a cold page one by one, in this process: read, transfer, render. */
import type { ComputePool } from '../../compute/pool.js';
import { marketsOfPage } from '../../compute/replay/names.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { renderPage, type RenderInput, type RenderResult } from '../../compute/replay/render.js';
import type { PagePlan, PlanRequest } from '../../storage/contract.js';
import type { Store } from '../../storage/store.js';
import { benchCase, type BenchCase } from '../case.js';
import { benchAddress, type PageShape } from '../data/pages.js';
import { digestOf } from '../digest.js';
import { unpacked } from './encodings.js';
import { envelopeOf, queryOf, windowOf } from './request.js';

const READ = 'steps A/readSegments';

/**
 * Token 0's first page, as gzip JSON of group=market.
 * @param small a store of token 0 only, for the cost of reading without other stored data
 */
export async function stepCases(
  shape: PageShape,
  store: Store,
  small: Store,
  pool: ComputePool,
): Promise<BenchCase[]> {
  const { depth } = store;
  const request = planRequest(shape, store);
  const plan = await depth.plan(request);
  const blocks = await depth.readSegments(plan.segmentIds);
  const render = (ofPlan: PagePlan, read: Uint8Array[]): Promise<RenderResult> =>
    pool.run(
      'renderPage',
      renderInput(shape, ofPlan, read),
      read.map((block) => block.buffer as ArrayBuffer),
    );
  return [
    benchCase({
      name: 'steps A/plan',
      run: () => depth.plan(request),
      digest: ({ snapshots }) => digestOf([JSON.stringify(snapshots)]),
    }),
    await readCase(READ, shape, store),
    {
      ...(await readCase(`${READ}, 1 token stored`, shape, small)),
      against: { timesFaster: READ },
    },
    benchCase({
      name: 'steps A/pool round trip',
      run: () => pool.run('ping', null),
      digest: (threadId) => digestOf([typeof threadId]),
    }),
    benchCase({
      name: 'steps A/renderPage here',
      run: () => renderPage(renderInput(shape, plan, blocks)),
      digest: digestOfRender,
    }),
    benchCase({
      name: 'steps A/renderPage in the pool',
      // The blocks are moved to the worker, so each operation needs its own copies.
      run: () => {
        const copies = blocks.map((block) => block.slice());
        return render(plan, copies);
      },
      digest: digestOfRender,
    }),
    benchCase({
      name: 'steps A/plan, read, render in the pool',
      run: async () => {
        const made = await depth.plan(request);
        const before = pool.postedTasks;
        const read = await depth.readSegments(made.segmentIds);
        const blockBytes = read.reduce((sum, block) => sum + block.length, 0);
        const result = await render(made, read);
        return { result, blockBytes, tasksPosted: pool.postedTasks - before };
      },
      digest: ({ result }) => digestOfRender(result),
      counters: ({ result, blockBytes, tasksPosted }) => ({
        blockBytesRead: blockBytes,
        tasksPosted,
        bytesOut: result.status === 'done' ? result.body.length : 0,
      }),
    }),
  ];
}

function planRequest(shape: PageShape, { depth }: Store): PlanRequest {
  const token = depth.token('mainchain', benchAddress(0));
  if (token === null) throw new Error('the store lacks token 0');
  const { from: fromS, to: toS } = windowOf(0, shape.snapshots);
  const { maxSnapshots } = PAGE_LIMITS;
  return { tokenId: token.tokenId, fromS, toS, nowS: toS, maxSnapshots };
}

async function readCase(name: string, shape: PageShape, store: Store): Promise<BenchCase> {
  const { depth } = store;
  const { segmentIds } = await depth.plan(planRequest(shape, store));
  const blocks = await depth.readSegments(segmentIds);
  return benchCase({
    name,
    run: () => depth.readSegments(segmentIds),
    digest: digestOf,
    inputBytes: blocks.reduce((sum, block) => sum + block.length, 0),
    extra: (read) => ({ segments: read.length }),
  });
}

function renderInput(shape: PageShape, plan: PagePlan, segments: Uint8Array[]): RenderInput {
  const query = queryOf('market');
  return {
    segments,
    selection: {
      run: Uint32Array.from(plan.snapshots, ({ segment }) => segment),
      row: Uint32Array.from(plan.snapshots, ({ row }) => row),
    },
    markets: marketsOfPage(plan.markets, query),
    query,
    windowContinues: false,
    nextT: null,
    envelope: envelopeOf(shape.snapshots),
    format: 'json',
    encoding: 'gzip',
  };
}

function digestOfRender(result: RenderResult): string {
  if (result.status !== 'done') throw new Error(`a page ended as ${result.status}`);
  return digestOf([unpacked(result.body, 'gzip')]);
}
