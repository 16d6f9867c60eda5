import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ExportFolder } from '../../storage/export/folder.js';
import { depthFile, type ExportIndex } from '../../storage/export/layout.js';
import { letPass } from '../support/waiting.js';
import { temporaryDirectory } from '../support/folders.js';

it('An export lists files that are finished at the same moment', async () => {
  const out = path.join(temporaryDirectory(), 'out');
  const view = { group: 'market', min_pct: -50, max_pct: 100, step_s: null } as const;
  const folder = await ExportFolder.open(out, view);
  // Every file is due to be listed at once.
  let passed = 0;
  const clock = letPass(0);
  clock.mockImplementation(() => (passed += 60_000));
  const token = {
    chain: 'mainchain',
    address: 'So11111111111111111111111111111111111111112',
  } as const;
  const files = Array.from({ length: 40 }, (_, day) =>
    depthFile('cells', token, day * 86_400, 'raw'),
  );
  const known = { digest: 'x', from: 0, to: 1 };
  await Promise.all(
    files.map((file, i) =>
      folder.put(file, known, (to) => {
        writeFileSync(to, 'y'.repeat(i));
        return Promise.resolve(i);
      }),
    ),
  );
  clock.mockRestore();
  const index = JSON.parse(readFileSync(path.join(out, '_fathom.json'), 'utf8')) as ExportIndex;
  expect(Object.keys(index.files)).toEqual([...files].sort());
  expect(Object.values(index.files).map(({ rows, bytes }) => rows - bytes)).toEqual(
    files.map(() => 0),
  );
  await folder.close();
});
