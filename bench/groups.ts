/**
 * The groups of cases that run in the bench's process. Each is loaded separately, so that an older build that lacks what
 * one of them measures still runs the others.
 */
import type { BenchCase, LoadedGroup, PartFailure } from './case.js';
import type { PageShape } from './data/pages.js';
import { messageOf } from './errors.js';

const pages = () => import('./data/pages.js');
const pure = (cases: BenchCase[]): LoadedGroup => ({ cases, close: () => Promise.resolve() });

async function historyOf(shape: PageShape) {
  return (await pages()).tokenHistory(shape, shape.snapshots, 0);
}

async function segmentGroup(shape: PageShape): Promise<BenchCase[]> {
  const { segmentCases } = await import('./cases/segments.js');
  return segmentCases(shape, await historyOf(shape));
}

async function pageGroup(shape: PageShape): Promise<LoadedGroup> {
  const history = await historyOf(shape);
  return parted({
    buildPage: async () => (await import('./cases/pages.js')).pageCases(shape, history),
    encodings: async () => (await import('./cases/encodings.js')).encodingCases(shape, history),
    'gzip at once': async () =>
      (await import('./cases/page-gzip.js')).pageGzipCases(shape, history),
  });
}

/** Loads the parts of a group. A part that fails to load does not affect the others. */
async function parted(parts: Record<string, () => Promise<BenchCase[]>>): Promise<LoadedGroup> {
  const cases: BenchCase[] = [];
  const failures: PartFailure[] = [];
  for (const [part, load] of Object.entries(parts)) {
    try {
      cases.push(...(await load()));
    } catch (error) {
      failures.push({ part, reason: messageOf(error) });
    }
  }
  return { ...pure(cases), failures };
}

async function fragmentGroup(shape: PageShape): Promise<LoadedGroup> {
  const { fragmentCases } = await import('./cases/fragments.js');
  return pure(fragmentCases(shape, await historyOf(shape)));
}

/** By name, in the order in which they are measured. */
const LOADERS = {
  binning: async () => {
    const { binningCases } = await import('./cases/binning.js');
    return pure(binningCases(await historyOf((await pages()).PAGE_A)));
  },
  'segments A': async () => pure(await segmentGroup((await pages()).PAGE_A)),
  'page A': async () => pageGroup((await pages()).PAGE_A),
  'segments B': async () => pure(await segmentGroup((await pages()).PAGE_B)),
  'page B': async () => pageGroup((await pages()).PAGE_B),
  'fragments A': async () => fragmentGroup((await pages()).PAGE_A),
  'fragments B': async () => fragmentGroup((await pages()).PAGE_B),
  lp: async () => pure((await import('./cases/lp.js')).lpCases()),
  flow: async () => (await import('./cases/flow.js')).loadFlow(),
  'steps A': async (tokens) => (await import('./steps-group.js')).loadSteps(tokens),
} satisfies Record<string, (tokens: number) => Promise<LoadedGroup>>;

export type LoadedGroupName = keyof typeof LOADERS;
export const LOADED_GROUPS = Object.keys(LOADERS) as LoadedGroupName[];

/**
 * Loads a group.
 * @param tokens in the store used by the group of steps
 * @throws Error if this build lacks what the group measures
 */
export function loadGroup(name: LoadedGroupName, tokens: number): Promise<LoadedGroup> {
  return LOADERS[name](tokens);
}
