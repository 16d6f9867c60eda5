import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { InputError } from '../../storage/errors.js';
import { takeLock } from '../../storage/file-lock.js';
import {
  AS_OF,
  expectedRows,
  FIRST_T,
  MINT,
  OLD_MINT,
  startMarket,
  type Market,
} from '../cli/replay-client-support.js';
import { fathom, newKey } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { exportedFiles, inodesOf, rowsOf } from './exports.js';

let market: Market;
beforeAll(async () => {
  market = await startMarket();
});

const TOKEN = ['--token', `mainchain:${MINT}`];
const exported = (out: string, ...flags: string[]) =>
  fathom(['export', '--data', market.data, '--out', out, ...flags]);
const newFolder = () => path.join(temporaryDirectory(), 'export');

async function exportedTo(out: string, ...flags: string[]) {
  const { status, stdout, stderr } = await exported(out, '--json', ...flags);
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.any(String) as string });
  return JSON.parse(stdout) as Record<string, number>;
}

const CELLS =
  'address, t, tier, price_usd, source, exchange_type, type, market_address, pair, bin, support_usd, resistance_usd';

describe('fathom export, beside a server', () => {
  it('writes the cells that were ingested, a file for each day and tier', async () => {
    const out = newFolder();
    const { written, rows } = await exportedTo(out, '--dataset', 'cells');
    expect(exportedFiles(out)).toHaveLength(written + 1);
    for (const name of exportedFiles(out).filter((name) => /^(?!_|tokens)/.test(name))) {
      expect(name).toMatch(
        /^cells\/chain=mainchain\/date=202\d-\d\d-\d\d\/[0-9A-Za-z]+-(raw|15m)\.parquet$/,
      );
    }
    const found = await rowsOf(out, 'cells', `${CELLS}, epoch_ms(timestamp), price`, MINT);
    const expected = expectedRows(market.rows).map((row) => {
      const [, , t, , price] = row as [string, string, number, string, number];
      const bin = row[10] as number;
      return [...row.slice(1), t * 1000, price * 1.01 ** bin];
    });
    expect(found.map((row) => row.slice(0, -1))).toEqual(expected.map((row) => row.slice(0, -1)));
    found.forEach((row, i) => expect(row.at(-1)).toBeCloseTo(expected[i].at(-1) as number, 9));
    const others = [
      await rowsOf(out, 'cells', 't', OLD_MINT),
      await rowsOf(out, 'tokens', 'address'),
    ];
    expect(rows).toBe(expected.length + others[0].length + others[1].length);
    // The day of the file, and the columns of the folders.
    const folders = `chain = 'mainchain' AND date = timestamp::DATE`;
    expect(await rowsOf(out, 'cells', `bool_and(${folders})`)).toEqual([[true]]);
  });

  it('writes nothing if nothing has changed, and only what is missing or of another size', async () => {
    const out = newFolder();
    const first = await exportedTo(out, ...TOKEN);
    expect(first.unchanged).toBe(0);
    const before = inodesOf(out);
    const second = await exportedTo(out, ...TOKEN);
    expect(second).toMatchObject({ written: 0, removed: 0, unchanged: first.written });
    expect(inodesOf(out)).toEqual(before);
    const files = exportedFiles(out).filter((name) => name.startsWith('cells'));
    rmSync(path.join(out, files[0]));
    writeFileSync(path.join(out, files[1]), 'cut');
    expect(await exportedTo(out, ...TOKEN)).toMatchObject({ written: 2 });
    const changed = [...inodesOf(out)].filter(([name, inode]) => before.get(name) !== inode);
    expect(changed.map(([name]) => name).sort()).toEqual(
      ['_fathom.json', files[0], files[1]].sort(),
    );
  });

  it('never leaves less of a day than there was, and adds to it', async () => {
    const out = newFolder();
    const noon = FIRST_T + 30_000;
    await exportedTo(out, ...TOKEN, '--dataset', 'snapshots', '--from', String(noon));
    const later = await rowsOf(out, 'snapshots', 't');
    expect(later[0]).toEqual([Math.min(...market.rows.map(({ t }) => t).filter((t) => t >= noon))]);
    await exportedTo(out, ...TOKEN, '--dataset', 'snapshots', '--from', String(noon + 5000));
    expect(await rowsOf(out, 'snapshots', 't')).toEqual(later);
    await exportedTo(out, ...TOKEN, '--dataset', 'snapshots', '--to', String(noon));
    expect(await rowsOf(out, 'snapshots', 't')).toEqual(market.rows.map(({ t }) => [t]));
  });

  it('keeps the newest snapshot of each step, across midnight too', async () => {
    for (const [step, seconds] of [
      ['15m', 900],
      ['1d', 86_400],
    ] as const) {
      const out = newFolder();
      await exportedTo(out, ...TOKEN, '--dataset', 'snapshots', '--step', step);
      // An interval ends with a multiple of the step.
      const newest = new Map(market.rows.map(({ t }) => [Math.ceil(t / seconds), t]));
      expect(await rowsOf(out, 'snapshots', 't')).toEqual([...newest.values()].map((t) => [t]));
      expect(
        await exportedTo(out, ...TOKEN, '--dataset', 'snapshots', '--step', step),
      ).toMatchObject({ written: 0, removed: 0 });
    }
  });

  it('ends at --as-of, from which relative times count, also to hide snapshots', async () => {
    const out = newFolder();
    const asOf = FIRST_T + 60_050;
    await exportedTo(out, ...TOKEN, '--as-of', String(asOf), '--from', '-1h');
    const shown = market.rows.map(({ t }) => t).filter((t) => t >= asOf - 3600 && t <= asOf);
    expect(shown.length).toBeGreaterThan(10);
    expect(await rowsOf(out, 'snapshots', 't')).toEqual(shown.map((t) => [t]));
  });

  it('has the tables that are asked for, and the tokens always', async () => {
    const out = newFolder();
    await exportedTo(out, ...TOKEN, '--dataset', 'limit_orders', '--dataset', 'dlmm_hours');
    expect(exportedFiles(out).sort()).toEqual(['_fathom.json', 'tokens/tokens.parquet']);
    const tokens = await rowsOf(out, 'tokens', 'chain, address, symbol, asset', MINT);
    expect(tokens).toEqual([['mainchain', MINT, 'SOL', 'sol']]);
  });

  it('sums each snapshot in the dataset snapshots', async () => {
    const out = newFolder();
    await exportedTo(out, ...TOKEN, '--to', String(AS_OF));
    const sums = `t, tier, price_usd, count(*)::INTEGER, round(sum(support_usd), 2), round(sum(resistance_usd), 2)`;
    const ofCells = await rowsOf(out, 'cells', sums, MINT, 'GROUP BY ALL ORDER BY t');
    const found = await rowsOf(
      out,
      'snapshots',
      't, tier, price_usd, cells, support_usd, resistance_usd',
    );
    expect(found.filter((row) => row[3] !== 0)).toEqual(ofCells);
    expect(found).toHaveLength(market.rows.length);
  });

  it('keeps all of a day that a killed run has not listed', async () => {
    const out = newFolder();
    const words = [...TOKEN, '--dataset', 'snapshots'];
    await exportedTo(out, ...words);
    const whole = await rowsOf(out, 'snapshots', 't');
    const index = path.join(out, '_fathom.json');
    const listed = JSON.parse(readFileSync(index, 'utf8')) as object;
    writeFileSync(index, JSON.stringify({ ...listed, files: {} }));
    await exportedTo(out, ...words, '--from', String(FIRST_T + 30_000));
    expect(await rowsOf(out, 'snapshots', 't')).toEqual(whole);
  });

  it('takes up where a killed run ended', async () => {
    const out = newFolder();
    await exportedTo(out, ...TOKEN, '--dataset', 'cells');
    const index = path.join(out, '_fathom.json');
    const whole = readFileSync(index, 'utf8');
    const { files, ...head } = JSON.parse(whole) as { files: Record<string, object> };
    const [name] = Object.keys(files);
    writeFileSync(index, JSON.stringify({ ...head, files: { ...files, [name]: undefined } }));
    const [folder, file] = [path.dirname(name), path.basename(name)];
    // What a day that the store no longer has, and a file being written, left.
    const gone = path.join(out, 'cells/chain=mainchain/date=2026-01-01', file);
    mkdirSync(path.dirname(gone));
    writeFileSync(gone, 'PAR1');
    writeFileSync(path.join(out, folder, `.${file}.partial`), 'PAR1');
    expect(await exportedTo(out, ...TOKEN, '--dataset', 'cells')).toMatchObject({
      written: 1,
      removed: 1,
    });
    expect(readFileSync(index, 'utf8')).toBe(whole);
    expect(exportedFiles(out).sort()).toEqual(['_fathom.json', ...Object.keys(files)].sort());
  });
});

describe('fathom export, of days that change', () => {
  const DAY_S = 86_400;
  const firstDay = Math.floor(FIRST_T / DAY_S) * DAY_S;
  const days = Array.from({ length: 12 }, (_, i) => firstDay + i * DAY_S + 43_200);
  const ingest = async (data: string, tier: string) => {
    const rows = days.map((t) => ({
      ...{ chain: 'mainchain', address: MINT, t, tier, price_usd: 1 },
      markets: [],
    }));
    const file = path.join(temporaryDirectory(), 'rows.ndjson');
    writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
    const ended = await fathom(['ingest', 'snapshots', file, '--data', data]);
    expect(ended).toMatchObject({ status: 0 });
  };

  it('replaces the files of a tier by those of another', async () => {
    const data = path.join(temporaryDirectory(), 'data');
    const out = newFolder();
    const words = ['export', '--data', data, '--out', out, '--dataset', 'snapshots', '--json'];
    await ingest(data, '15m');
    expect(await fathom(words)).toMatchObject({ status: 0 });
    const window = ['--from', String(firstDay), '--to', String(firstDay + 12 * DAY_S)];
    const removed = ['delete', '--data', data, '--token', `mainchain:${MINT}`, '--yes', ...window];
    // Only one of the tiers is shown, in each run another one.
    for (const tier of ['raw', '15m', 'raw']) {
      expect(await fathom(removed)).toMatchObject({ status: 0 });
      await ingest(data, tier);
      const ended = await fathom(words);
      expect(ended).toMatchObject({ status: 0 });
      expect(await rowsOf(out, 'snapshots', 't, tier')).toEqual(days.map((t) => [t, tier]));
    }
  });
});

describe('fathom export refuses', () => {
  const refused = async (out: string, ...flags: string[]) => {
    const { status, stderr } = await exported(out, ...flags);
    expect(status).not.toBe(0);
    return stderr;
  };

  it('addresses of object stores', async () => {
    expect(await refused('s3://bucket/x')).toContain('--out: expected a folder, not s3://bucket/x');
  });

  it('a file, and what lies below one', async () => {
    const file = path.join(temporaryDirectory(), 'file');
    writeFileSync(file, 'mine');
    expect(await refused(file)).toBe(`--out: ${file} is a file: expected a directory\n`);
    expect(await refused(path.join(file, 'x'))).toContain('lies below a file');
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  it('a folder with other files', async () => {
    const out = temporaryDirectory();
    writeFileSync(path.join(out, 'notes.txt'), 'mine');
    expect(await refused(out)).toContain(`--out: ${out} holds other files (notes.txt)`);
    expect(readdirSync(out)).toEqual(['notes.txt']);
  });

  it('an export with another view', async () => {
    const out = newFolder();
    await exportedTo(out, ...TOKEN, '--dataset', 'snapshots');
    const before = inodesOf(out);
    expect(await refused(out, '--group', 'venue')).toContain(
      `--group: the export in ${out} has market, not venue`,
    );
    expect(await refused(out, '--step', '1h')).toContain('--step: the export');
    expect(await refused(out, '--max-pct', '50')).toContain('has 100, not 50');
    expect(inodesOf(out)).toEqual(before);
  });

  it('an export of another store, but not of a backup of its own', async () => {
    const out = newFolder();
    await exportedTo(out, ...TOKEN, '--dataset', 'snapshots');
    const before = inodesOf(out);
    const other = path.join(temporaryDirectory(), 'data');
    // Makes a store.
    await newKey(other);
    const refusal = await fathom(['export', '--data', other, '--out', out]);
    expect(refusal.stderr).toBe(
      `--out: the export in ${out} is of another store: use another --out, or the --data of its store\n`,
    );
    expect(refusal.status).toBe(1);
    expect(inodesOf(out)).toEqual(before);
    const backup = path.join(temporaryDirectory(), 'backup');
    const copied = await fathom(['backup', '--out', backup, '--data', market.data]);
    expect(copied).toMatchObject({ status: 0 });
    const words = ['export', '--data', backup, '--out', out, ...TOKEN, '--dataset', 'snapshots'];
    const ended = await fathom([...words, '--json']);
    expect(ended).toMatchObject({ status: 0 });
    expect(JSON.parse(ended.stdout)).toMatchObject({ written: 0, removed: 0 });
  });

  it('no export of a store without keys whose pepper was lost', async () => {
    const [data, out] = [path.join(temporaryDirectory(), 'data'), newFolder()];
    const words = ['export', '--data', data, '--out', out];
    const file = path.join(temporaryDirectory(), 'tokens.ndjson');
    writeFileSync(file, JSON.stringify({ chain: 'mainchain', address: MINT, symbol: 'SOL' }));
    const ingest = ['ingest', 'tokens', file, '--data', data];
    expect(await fathom(ingest)).toMatchObject({ status: 0 });
    expect(await fathom(words)).toMatchObject({ status: 0 });
    for (let losses = 0; losses < 2; losses++) {
      rmSync(path.join(data, 'pepper'));
      expect(await fathom(ingest)).toMatchObject({ status: 0 });
      expect(await fathom(words)).toMatchObject({ status: 0 });
    }
  });

  it('a folder that another process writes to', async () => {
    const out = newFolder();
    await exportedTo(out, ...TOKEN, '--dataset', 'snapshots');
    const lock = path.join(out, '_fathom.lock');
    const unlock = await takeLock(lock, {
      what: out,
      command: 'fathom export',
      Refusal: InputError,
    });
    expect(await refused(out)).toBe(
      `process ${process.pid} is writing ${out}; if that is not fathom export, delete ${lock}\n`,
    );
    await unlock();
    await exportedTo(out, ...TOKEN, '--dataset', 'snapshots');
    expect(statSync(out).isDirectory()).toBe(true);
  });

  it('windows, bands and tokens that mean nothing', async () => {
    const out = newFolder();
    expect(await refused(out, '--from', '2026-02-01', '--to', '2026-01-01')).toContain('--from: ');
    expect(await refused(out, '--min-pct', '10', '--max-pct', '5')).toContain('--min-pct: ');
    expect(await refused(out, '--max-pct', 'much')).toContain('from -90 to 1000, not much');
    expect(await refused(out, '--dataset', 'cell')).toContain('did you mean cells?');
    const unknown = 'mainchain:4k3Dyjzvzp8eMZWUXbBCjEvwSkkk59S5iCNLY3QrkX6R';
    expect(await refused(out, '--token', unknown)).toContain(`does not know the token ${unknown}`);
  });
});
