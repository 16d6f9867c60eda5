/** Reads a store's rows as the model has them. */
import { pushTo } from '../../compute/collections.js';
import { decodeHolderBlock } from '../../compute/holders/block-decoder.js';
import { type Market, TIERS } from '../../compute/market.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { decodeSegment } from '../../compute/segment/segment.js';
import { SegmentGoneError } from '../../storage/contract.js';
import { marketName } from '../../storage/depth/market-names.js';
import type { Store } from '../../storage/store.js';
import { depthRow, depthText, snapshotName } from './model.js';
import { HOUR, TOKENS } from './times.js';

/** A row whose parts come from several files, or that is stored twice. */
const MIXED = 'mixed';

/** Every stored row, read as readers do. */
export async function contentsOf(store: Store): Promise<Map<string, string>> {
  const rows = new Map<string, string>();
  for (const tokenId of store.depth.tokenIds()) {
    const details = store.depth.tokenById(tokenId);
    if (details === null) continue;
    const { address, symbol } = details;
    if (symbol !== null) rows.set(`token ${address}`, symbol.slice(1));
    await addDepth(rows, store, tokenId, address);
  }
  for (const address of TOKENS) await addHolders(rows, store, address);
  for await (const orders of store.orders.dca.all()) {
    for (const { dcaAddress, remainingUsd } of orders)
      rows.set(`dca ${dcaAddress}`, `${remainingUsd}`);
  }
  for await (const orders of store.orders.limit.all()) {
    for (const { orderAddress, remainingUsd } of orders) {
      rows.set(`limit ${orderAddress}`, `${remainingUsd}`);
    }
  }
  for (const { pubkey, reserveX } of await store.lp.dlmmPools()) {
    rows.set(`pool ${pubkey}`, `${reserveX}`);
  }
  const toS = (HOUR + 1) * 3600;
  const hours = await store.lp.dlmmHours(0, toS);
  hours.hour.forEach((hour, i) =>
    rows.set(`hour ${hours.pubkeys[hours.pool[i]]} ${hour}`, `${hours.feesUsd[i]}`),
  );
  const volumes = await store.lp.tokenHours(0, toS);
  volumes.hour.forEach((hour, i) =>
    rows.set(
      `volume ${volumes.addresses[volumes.token[i]]} ${hour}`,
      `${volumes.organicVolumeUsd[i]}`,
    ),
  );
  for (const { id, name, revokedAtS } of await store.listKeys()) {
    if (name !== null) rows.set(`key ${name}`, '1');
    if (revokedAtS !== null) rows.set(`revoked ${id}`, '1');
  }
  return rows;
}

async function addDepth(rows: Map<string, string>, store: Store, tokenId: number, address: string) {
  for (;;) {
    try {
      // A plan omits coarse snapshots hidden by finer ones.
      const directory = await store['parts'].directories.get(tokenId);
      const refs = TIERS.flatMap((tier) => directory[tier]);
      const blocks = await store.depth.readSegments(refs.map(({ segmentId }) => segmentId));
      const markets = store.depth.markets(tokenId);
      for (const run of blocks.map(decodeSegment)) addRun(rows, run, address, markets);
      return;
    } catch (error) {
      // Segments were joined in the background in the meantime.
      if (!(error instanceof SegmentGoneError)) throw error;
    }
  }
}

function addRun(
  rows: Map<string, string>,
  run: SnapshotRun,
  address: string,
  markets: readonly Market[],
): void {
  run.t.forEach((t, row) => {
    const snapshot = snapshotName(address, t, run.tier);
    const cells = new Map<number, number[][]>();
    for (let c = run.cellOffsets[row]; c < run.cellOffsets[row + 1]; c++) {
      pushTo(cells, run.market[c], [run.bin[c], run.supportCents[c], run.resistanceCents[c]]);
    }
    if (cells.size === 0) rows.set(depthRow(snapshot), depthText(run.priceUsd[row], []));
    for (const [market, own] of cells) {
      const name = depthRow(snapshot, marketName(markets[market]));
      rows.set(name, rows.has(name) ? MIXED : depthText(run.priceUsd[row], own));
    }
  });
}

async function addHolders(rows: Map<string, string>, store: Store, address: string) {
  const times = [...(await store.holders.times(address))];
  const { blocks } = await store.holders.read(address, times);
  for (const { t, balance } of blocks.flatMap((block) => decodeHolderBlock(block, times))) {
    const isOne = balance.length === 3 && balance.every((one) => one === balance[0]);
    rows.set(`holders ${address} ${t}`, isOne ? `${balance[0]}` : MIXED);
  }
}
