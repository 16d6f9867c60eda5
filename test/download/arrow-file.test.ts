/** Arrow files of `fathom replay` whose parts cannot be read, or which cannot be written. */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { arrowWriter } from '../../server/download/arrow-file.js';
import { addPage } from '../../server/download/totals.js';
import { temporaryDirectory } from '../support/folders.js';

type Page = Parameters<typeof addPage>[1];

const TOTALS = addPage(null, {
  token: 'So11111111111111111111111111111111111111112',
  chain: 'mainchain',
  window: { from: 0, to: 60, clamped: false },
  group: 'all',
  filter: { types: null, venues: null, venues_not_found: [] },
  markets_mode: 'aggregate',
  min_pct: -25,
  max_pct: 25,
  bin_ratio: 1.01,
  snapshots: [],
} as unknown as Page);

it('An Arrow file names why its part cannot be read', async () => {
  const folder = temporaryDirectory();
  const converted = arrowWriter.convert?.(
    TOTALS,
    path.join(folder, 'gone'),
    path.join(folder, 'out'),
  );
  await expect(converted).rejects.toThrow(/gone: no such file/);
});

it('An Arrow file names why it cannot be written, also while its part is being read', async () => {
  const folder = temporaryDirectory();
  const part = path.join(folder, 'part');
  writeFileSync(part, '0,raw,1,0,1,2\n'.repeat(200_000));
  const out = path.join(folder, 'none', 'out');
  await expect(arrowWriter.convert?.(TOTALS, part, out)).rejects.toThrow(/ENOENT.*none/);
  expect(existsSync(out)).toBe(false);
});
