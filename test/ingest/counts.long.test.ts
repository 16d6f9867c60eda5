/** What a file's report counts, and what its flags mean. */
import { expect, it } from 'vitest';
import { cells, csv, lines, MINT, snapshot, StoreScratch } from '../support/ingest.js';

const T = 1_794_000_000;
const scratch = new StoreScratch();

it.each([false, true])('two rows of a snapshot count as one, merged: %s', async (merge) => {
  const pairs = Array.from({ length: 20_000 }, (_, i) =>
    snapshot(T + Math.floor(i / 2), [[0, 5, 0]], {
      markets: [{ source: `Venue${i % 2}`, exchange_type: 'CEX', pair: 'A/B', cells: [[0, 5, 0]] }],
    }),
  );
  const rows = [...pairs, ...pairs.slice(0, 500)];
  const [report] = await scratch.ingest('snapshots', scratch.file('.ndjson', lines(rows)), {
    merge,
  });
  const perSnapshot = merge ? 2 : 1;
  expect(report).toMatchObject({
    rows: 20_500,
    snapshots: 10_000,
    cells: 10_000 * perSnapshot,
  });
});

it('rows of cells count as before', async () => {
  const rows = Array.from({ length: 12_000 }, (_, i) => cells(T + i)).flat();
  const [report] = await scratch.ingest('cells', scratch.file('.ndjson', lines(rows)));
  expect(report).toMatchObject({ rows: 36_000, snapshots: 12_000, cells: 36_000 });
});

it('a time unit of seconds cuts fractions off, as the other units do', async () => {
  const ndjson = scratch.file('.ndjson', lines([snapshot(T + 0.75)]));
  const [stored] = await scratch.takes('snapshots', ndjson, '--time-unit', 's');
  expect(stored.t).toBe(T);
  const text = scratch.file('.csv', csv(cells(T).map((row) => ({ ...row, t: `${T}.999999999` }))));
  expect((await scratch.takes('cells', text, '--time-unit', 's'))[0].t).toBe(T);
  // Without the flag, times are whole seconds.
  expect(await scratch.refuses('snapshots', ndjson)).toEqual([
    '1: t: must be whole epoch seconds from 1 to 4294967295: a fraction of a second: add --time-unit auto',
  ]);
});

it('no hint names a flag that is given', async () => {
  const file = scratch.file('.csv', 'owner,balance\na,5\n');
  const token = ['--set', 'token_address=0x00000000000000000000000000000000000000aa'];
  expect(await scratch.refuses('holders', file, ...token, '--set', `t=${T}`)).toEqual([
    '2: token_address: must be an address of mainchain',
  ]);
  const typed = scratch.file('.ndjson', lines([{ t: T, owner: 'a', balance: 5 }]));
  expect(await scratch.refuses('holders', typed, ...token)).toEqual([
    '1: token_address: must be an address of mainchain',
  ]);
  expect(await scratch.refuses('holders', typed, '--set', `token_address=${MINT}0`)).toEqual([
    '1: token_address: must be an address of mainchain',
  ]);
});
