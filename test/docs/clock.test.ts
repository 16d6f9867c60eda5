/** Intervals and deadlines use performance.now(); only storage/wall-clock.ts reads the time of day. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const FOLDERS = ['collect', 'compute', 'storage', 'demo', 'server', 'bench'];

it('only one module asks the system for the time of day', () => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.m?ts$|\.mjs$/.test(name))
      .map((name) => path.join(folder, name)),
  );
  const asking = files.filter((file) =>
    /\bDate\.now\b|\bnew Date(\(\)|;)|(?<!new )\bDate\(/.test(readFileSync(file, 'utf8')),
  );
  expect(asking).toEqual(['storage/wall-clock.ts']);
});
