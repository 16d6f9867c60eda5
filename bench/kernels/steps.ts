/** The steps of a cold page, in this process and its pool: plan, read, render. */
import path from 'node:path';
import { type ComputePool, startPool } from '../../compute/pool.js';
import { marketsOfPage } from '../../compute/replay/names.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import type { RenderInput, RenderResult } from '../../compute/replay/render.js';
import type { PagePlan, PlanRequest } from '../../storage/contract.js';
import type { Store } from '../../storage/store.js';
import { benchCase, type BenchCase, type LoadedGroup } from '../case.js';
import { benchAddress, PAGE_A, type PageShape } from '../data/pages.js';
import { envelopeOf, queryOf, windowOf } from '../data/requests.js';
import { digestOf } from '../digest.js';
import { temporaryFolder } from '../folder.js';
import { makeStore, openStore } from '../store.js';
import { unpacked } from './page.js';

/** @param tokens of the store */
export async function loadSteps(tokens: number): Promise<LoadedGroup> {
  const folder = temporaryFolder();
  const directory = path.join(folder.path, 'data');
  await makeStore(directory, PAGE_A, tokens);
  const store = await openStore(directory);
  const faults: Error[] = [];
  const pool = await startPool({ onError: (error) => faults.push(error) });
  return {
    cases: await stepCases(PAGE_A, store, pool),
    async close() {
      await pool.close();
      await store.close();
      await folder.remove();
      if (faults.length > 0) throw faults[0];
    },
  };
}

/** Token 0's first page, as gzip JSON of group=market. */
async function stepCases(shape: PageShape, store: Store, pool: ComputePool): Promise<BenchCase[]> {
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
    benchCase({
      name: 'steps A/read segments',
      run: () => depth.readSegments(plan.segmentIds),
      digest: digestOf,
      inputBytes: blocks.reduce((sum, { length }) => sum + length, 0),
    }),
    benchCase({
      name: 'steps A/render in the pool',
      // The blocks are moved to the worker, so each operation needs its own copies.
      run: () =>
        render(
          plan,
          blocks.map((block) => block.slice()),
        ),
      digest: digestOfRender,
    }),
    benchCase({
      name: 'steps A/plan, read and render in the pool',
      run: async () => {
        const made = await depth.plan(request);
        return render(made, await depth.readSegments(made.segmentIds));
      },
      digest: digestOfRender,
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
