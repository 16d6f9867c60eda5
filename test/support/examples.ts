/** The small market of the examples and its expected replies; tests on it need its files. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { newKey, serveHere } from './cli.js';
import { temporaryDirectory } from './folders.js';
import { checkReply, type Json } from './conformance.js';
import { ingest } from './ingest.js';

const EXAMPLES = path.resolve('..', 'shared', 'examples');

export const HAS_EXAMPLES = existsSync(EXAMPLES);

/** The NDJSON file of a dataset. */
const exampleFile = (dataset: string): string => path.join(EXAMPLES, `${dataset}.ndjson`);

/** A dataset's rows. */
export function exampleRows(dataset: string): Json[] {
  return readFileSync(exampleFile(dataset), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Json);
}

/** The expected replies. */
export function expectedReplies<T = Json>(): T {
  return JSON.parse(readFileSync(path.join(EXAMPLES, 'expected.json'), 'utf8')) as T;
}

/** Allowed relative difference between a number and its expected value. */
const TOLERANCE = 1e-6;
/** Numbers below it may differ by as much as it may. */
const NEXT_TO_NOTHING = 1e-3;

/** Expects everything in `want`, each number within rounding. */
export function expectClose(actual: unknown, want: unknown, at: string): void {
  if (typeof want === 'number') {
    const allowed = TOLERANCE * Math.max(Math.abs(want), NEXT_TO_NOTHING);
    expect(actual, at).toBeTypeOf('number');
    expect(Math.abs((actual as number) - want), at).toBeLessThanOrEqual(allowed);
  } else if (typeof want === 'object' && want !== null) {
    if (Array.isArray(want)) expect(actual, at).toHaveLength(want.length);
    for (const [key, value] of Object.entries(want)) {
      expectClose((actual as Json)[key], value, `${at}.${key}`);
    }
  } else expect(actual, at).toBe(want);
}

/** Serves the market's datasets within this process, at the market's time. */
export async function serveExamples(datasets: readonly Dataset[]) {
  const directory = temporaryDirectory();
  for (const dataset of datasets) await ingest(directory, dataset, [exampleFile(dataset)]);
  const key = await newKey(directory);
  const { now } = expectedReplies();
  const server = await serveHere(directory, ['--as-of', String(now)]);
  /** The document of a 200, which matches the API's description. */
  const get = async (target: string): Promise<Json> => {
    const response = await server.get(target, key);
    await checkReply('GET', response.url, response);
    expect(response.status, target).toBe(200);
    return (await response.json()) as Json;
  };
  return { get, key, url: server.url };
}
