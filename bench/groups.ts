/** The groups of cases of `npm run bench`, in the order in which they are measured. */
import type { BenchCase, LoadedGroup } from './case.js';
import { PAGE_A, PAGE_B } from './data/pages.js';
import { boardCases } from './kernels/boards.js';
import { binningCases, segmentCases } from './kernels/ingest.js';
import { pageCases } from './kernels/page.js';
import { loadSteps } from './kernels/steps.js';

const pure = (cases: BenchCase[]): LoadedGroup => ({ cases, close: () => Promise.resolve() });

/** A case's name begins with its group's. */
const LOADERS = {
  binning: () => pure(binningCases()),
  'segments A': () => pure(segmentCases(PAGE_A)),
  'page A': () => pure(pageCases(PAGE_A)),
  'segments B': () => pure(segmentCases(PAGE_B)),
  'page B': () => pure(pageCases(PAGE_B)),
  boards: () => pure(boardCases()),
  'steps A': loadSteps,
} satisfies Record<string, (tokens: number) => LoadedGroup | Promise<LoadedGroup>>;

export type Group = keyof typeof LOADERS;
export const GROUPS = Object.keys(LOADERS) as Group[];

/** @param tokens in the store used by the group of steps */
export async function loadGroup(name: Group, tokens: number): Promise<LoadedGroup> {
  return LOADERS[name](tokens);
}
