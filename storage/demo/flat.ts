/** The simulated market's flat datasets on their way into a store, by the ingest path. */
import { demoFlatChanges, demoFlatRows, type DemoRows } from '../../compute/demo/market.js';
import { commitPrepared } from '../ingest/ingest.js';
import type { NumberedRow } from '../ingest/flat-rows.js';
import { prepareHolderRows } from '../ingest/prepare-holders.js';
import { prepareFlatRows } from '../ingest/prepare-rows.js';
import type { PreparedFile } from '../ingest/prepared.js';
import { writeMarker, type DemoMarker } from './marker.js';
import { SOURCE, tokensOf, type DemoRequest } from './request.js';

/** Which of a filled market's flat datasets: `holders` are far more rows than all the others. */
export type FlatPart = 'holders' | 'others';

/**
 * Commits what stands when the history ends, with the hours and holders before it.
 * @returns the number of rows
 */
export async function fillFlat(
  request: DemoRequest,
  { seed, untilS }: DemoMarker,
  part: FlatPart,
): Promise<number> {
  const all = demoFlatRows(tokensOf(request, seed), untilS);
  return commitAll(
    request,
    all.filter(({ dataset }) => (dataset === 'holders') === (part === 'holders')),
  );
}

/**
 * Commits what has changed since the market was last collected.
 * @returns the marker as it now stands
 */
export async function collectFlat(
  request: DemoRequest,
  marker: DemoMarker,
  nowS: number,
): Promise<DemoMarker> {
  const sinceS = marker.collectedS ?? marker.untilS;
  if (nowS <= sinceS) return marker;
  await commitAll(request, demoFlatChanges(tokensOf(request, marker.seed), sinceS, nowS));
  const collected = { ...marker, collectedS: nowS };
  await writeMarker(request.directory, collected);
  return collected;
}

async function commitAll(request: DemoRequest, datasets: readonly DemoRows[]): Promise<number> {
  let committed = 0;
  for (const { dataset, rows } of datasets) {
    if (request.signal?.aborted === true) break;
    const bundle = { directory: request.directory, file: SOURCE, mode: 'replace' as const };
    const prepare = (): Promise<PreparedFile> =>
      dataset === 'holders'
        ? prepareHolderRows(bundle, numbered(rows()))
        : prepareFlatRows(bundle, dataset, numbered(rows()));
    committed += (await commitPrepared(request.useStore, prepare)).rows;
  }
  return committed;
}

function* numbered(rows: Iterable<object>): Iterable<NumberedRow> {
  let line = 0;
  for (const row of rows) yield { line: ++line, row };
}
