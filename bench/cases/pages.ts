/** The page kernel by grouping. */
import { benchCase, type BenchCase } from '../case.js';
import type { PageShape, TokenHistory } from '../data/pages.js';
import { digestOfPage } from '../digest.js';
import { buildPage, pageInput } from './request.js';

const GROUPS = ['market', 'venue', 'all'] as const;

export function pageCases(shape: PageShape, history: TokenHistory): BenchCase[] {
  return GROUPS.map((group) => {
    const input = pageInput(history, group);
    return benchCase({
      name: `page ${shape.name}/buildPage ${group}`,
      run: () => buildPage(input),
      digest: digestOfPage,
      work: { cells: history.run.bin.length },
      extra: ({ rowCount }) => ({ servedCells: rowCount }),
      counters: ({ rowCount }) => ({ cellsServed: rowCount }),
    });
  });
}
