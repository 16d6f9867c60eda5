import { statSync, existsSync } from 'node:fs';
import path from 'node:path';
import { it } from 'vitest';
import { DataDirectory, MINT, commitRows, openStore, orca, segmentIds, snapshot } from '/work/main/test/support/stores.js';
function book(seed: number, cells: number): any {
  let state = seed + 1;
  return Array.from({ length: cells }, (_, i) => {
    state = (state * 48_271) % 2_147_483_647;
    const usd = 1 + (state % 2_000_000) / 100;
    return i < cells / 2 ? [i - cells / 2, usd, 0] : [i - cells / 2, 0, usd];
  });
}
it('grow', async () => {
  const T = Number(process.env.T ?? 60), N = Number(process.env.N ?? 300);
  const d = new DataDirectory();
  let store = await openStore(d.path);
  const tokens = Array.from({ length: T }, (_, i) => MINT.slice(0, -2) + String(11 + i).replaceAll('0', 'z'));
  let t0 = Date.now();
  const f = path.join(d.path, 'fathom.duckdb');
  for (let m = 0; m < N; m++) {
    await commitRows(store, tokens.map((address, i) => snapshot(60000 + m * 60, [orca(book(m * 100 + i, 340))], { address })));
    if (process.env.SETTLE) await store.settled();
    if (m % 50 === 49) { await store.settled();
      let live = 0; for (const a of tokens) for (const b of await store.depth.readSegments(await segmentIds(store, a))) live += b.length;
      console.log(m, Date.now() - t0, 'live', (live / 1e6).toFixed(1), 'file', (statSync(f).size / 1e6).toFixed(1), 'wal', existsSync(f + '.wal') ? (statSync(f + '.wal').size / 1e6).toFixed(1) : 0, 'rss', (process.memoryUsage().rss/1e6)|0, 'segs', (await store.summary()).segments);
    }
  }
  const t1 = Date.now();
  await store.close();
  console.log('closed', statSync(f).size / 1e6, 'close ms', Date.now() - t1);
  const t2 = Date.now();
  store = await openStore(d.path); console.log('open ms', Date.now() - t2);
  await store.close(); console.log('closed again', statSync(f).size / 1e6);
  d.remove();
}, 600000);
