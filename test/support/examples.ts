/** The small market of the examples, and what is expected of it; tests on it need it to be there. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Json } from './tables.js';

const EXAMPLES = path.resolve('..', 'shared', 'examples');

export const HAS_EXAMPLES = existsSync(EXAMPLES);

/** The NDJSON file of a dataset. */
export const exampleFile = (dataset: string): string => path.join(EXAMPLES, `${dataset}.ndjson`);

/** A dataset's rows. */
export function exampleRows(dataset: string): Json[] {
  return readFileSync(exampleFile(dataset), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Json);
}

/** What the replies are to say. */
export function expectedReplies<T>(): T {
  return JSON.parse(readFileSync(path.join(EXAMPLES, 'expected.json'), 'utf8')) as T;
}
