/** Pages of real order books, imported like `fathom import`, from the files in a folder. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { binsOfBand, DEFAULT_MAX_PCT } from '../../compute/ladder.js';
import { startPool } from '../../compute/pool.js';
import { joinRuns } from '../../compute/segment/merge.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { decodeSegment } from '../../compute/segment/segment.js';
import type { TokenName } from '../../storage/contract.js';
import type { ImportFormat, ImportOptions } from '../../storage/import/formats.js';
import { importIntoStore } from '../../storage/import/import.js';
import type { Store } from '../../storage/store.js';
import type { TokenHistory } from '../data/pages.js';
import { temporaryFolder } from '../folder.js';
import { openStore } from '../store.js';
import { COLD_MIN_PCT, type PageSet } from './page-set.js';
import { NotRunError } from './peer.js';

/** The files of one import, in order, and their options. */
interface Source {
  format: ImportFormat;
  files: readonly string[];
  address: string;
  options: Partial<ImportOptions>;
}

const BTC = '9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E';
const BINANCE = path.join('cex', 'binance');

/** Three of Binance's BTC books over the same minutes: spot, and perpetuals in USDT and in contracts of 100 USD. */
const BOOKS: readonly Source[] = [
  bookOf(['spot_BTCUSDT_20240808.stream.gz', 'spot_BTCUSDT_20240809.stream.gz'], {}),
  bookOf(['usdm_BTCUSDT_20240808.stream.gz'], { type: 'cex_perp' }),
  bookOf(['coinm_BTCUSD_PERP_20240808.stream.gz'], { type: 'cex_perp', contractUsd: 100 }),
];

function bookOf(names: readonly string[], options: Source['options']): Source {
  const files = names.map((name) => path.join(BINANCE, name));
  return { format: 'binance-stream', files, address: BTC, options: { ...options, everyS: 1 } };
}

/** @throws NotRunError if the folder has none of the files */
export async function booksSet(folder: string): Promise<PageSet> {
  const sources = BOOKS.map((one) => {
    const files = one.files.map((file) => path.join(folder, file)).filter(existsSync);
    return { ...one, files };
  }).filter(({ files }) => files.length > 0);
  if (sources.length === 0) {
    throw new NotRunError(`no ${BOOKS[0].files[0]} in ${path.resolve(folder)}`);
  }
  const directory = temporaryFolder();
  const store = await openStore(directory.path);
  try {
    await importSources(store, sources);
    return { title: 'real order books', histories: [await storedHistory(store, BTC)] };
  } finally {
    await store.close();
    await directory.remove();
  }
}

async function importSources(store: Store, sources: readonly Source[]): Promise<void> {
  const pool = await startPool({ onError: () => undefined, threadsAtStart: 1 });
  try {
    for (const { format, files, address, options } of sources) {
      await importIntoStore({
        directory: store.directory,
        format,
        files,
        options: { ...DEFAULTS, ...options, token: tokenOf(address) },
        pool,
        useStore: (body) => body(store),
      });
    }
    await store.settled();
  } finally {
    await pool.close();
  }
}

const DEFAULTS: Omit<ImportOptions, 'token'> = {
  quoteUsd: 1,
  quoteUsdByAddress: new Map(),
  decimalsByAddress: new Map(),
  everyS: 60,
};

function tokenOf(address: string): TokenName {
  return { chain: 'mainchain', address };
}

/** A token's snapshots as one run, with the cells of the band with which pages are requested. */
async function storedHistory({ depth }: Store, address: string): Promise<TokenHistory> {
  const token = depth.token('mainchain', address);
  if (token === null) throw new Error(`nothing was imported of ${address}`);
  const always = { fromS: 0, toS: 2 ** 32, nowS: 2 ** 32, maxSnapshots: 2 ** 32 };
  const plan = await depth.plan({ tokenId: token.tokenId, ...always });
  const blocks = await depth.readSegments(plan.segmentIds);
  const parts = blocks.map((block) => ({ run: decodeSegment(block), markets: plan.markets }));
  const { run, markets } = joinRuns(parts, 'replace');
  return { run: withinBand(run), markets: [...markets] };
}

function withinBand(run: SnapshotRun): SnapshotRun {
  const { first, last } = binsOfBand(COLD_MIN_PCT, DEFAULT_MAX_PCT);
  const keeps = (cell: number): boolean => run.bin[cell] >= first && run.bin[cell] <= last;
  const cellOffsets = new Int32Array(run.cellOffsets.length);
  for (let s = 0; s < run.t.length; s++) {
    cellOffsets[s + 1] = cellOffsets[s];
    for (let c = run.cellOffsets[s]; c < run.cellOffsets[s + 1]; c++) {
      if (keeps(c)) cellOffsets[s + 1]++;
    }
  }
  return {
    ...run,
    cellOffsets,
    market: run.market.filter((_, cell) => keeps(cell)),
    bin: run.bin.filter((_, cell) => keeps(cell)),
    supportCents: run.supportCents.filter((_, cell) => keeps(cell)),
    resistanceCents: run.resistanceCents.filter((_, cell) => keeps(cell)),
  };
}
