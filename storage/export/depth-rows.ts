/** The rows of an export's files of depth, made while DuckDB writes them. */
import { BIN_FACTORS, type BinRange, MIN_BIN } from '../../compute/ladder.js';
import type { Market } from '../../compute/market.js';
import { distinctTexts } from '../../compute/replay/arrow-columns.js';
import { reusedCells } from '../../compute/replay/cells.js';
import { columnsOf, draw, type PageSnapshots } from '../../compute/replay/page.js';
import {
  factsOfMarkets,
  type MarketSlots,
  type ReplayGroup,
  slotsOfMarkets,
} from '../../compute/replay/query.js';
import { decodeRun } from '../../compute/replay/render.js';
import type { TokenName } from '../contract.js';
import type { GivenBatch, GivenColumn, GivenTable } from '../duckdb/given-columns.js';
import { literal, type ParquetColumn, type ParquetSource } from '../parquet-file.js';
import { BatchTable, number } from './batch-table.js';
import { type DayPlan, piecesOf } from './depth-plan.js';
import type { DepthDataset } from './layout.js';
import { SCORE_COLUMNS, scoreBatches } from './score-rows.js';
import type { StagedBlocks } from './staged-blocks.js';

/** Every market counts. */
const NO_FILTER = { types: null, excludeTypes: null, venues: null, excludeVenues: null };

/** How a file shows its token's markets. */
export interface ShownMarkets {
  group: ReplayGroup;
  band: BinRange;
  slots: MarketSlots;
  columns: readonly SlotColumn[];
}

/** A text column that describes markets or groups: a code for each slot. */
interface SlotColumn {
  name: string;
  values: readonly string[];
  /** Negative: null. */
  codes: Int32Array;
}

/** @param markets in order of first arrival */
export function shownMarkets(
  markets: readonly Market[],
  group: ReplayGroup,
  band: BinRange,
): ShownMarkets {
  const slots = slotsOfMarkets(markets, { ...NO_FILTER, group });
  return { group, band, slots, columns: slotColumns(markets, group, slots) };
}

/** As downloads have them (server/download/formats.ts). */
function slotColumns(
  markets: readonly Market[],
  group: ReplayGroup,
  { groups }: MarketSlots,
): SlotColumn[] {
  if (group === 'all') return [];
  if (group !== 'market') {
    return [
      slotColumn('group_key', groups, ({ key }) => key),
      slotColumn('group_label', groups, ({ label }) => label),
      slotColumn('type', groups, ({ type }) => type),
    ];
  }
  // A venue has one type.
  const { venue, venues } = factsOfMarkets(markets);
  return [
    slotColumn('source', markets, ({ source }) => source),
    slotColumn('exchange_type', markets, ({ exchangeType }) => exchangeType),
    slotColumn('type', markets, (_, m) => venues[venue[m]].type),
    slotColumn('market_address', markets, ({ address }) => address),
    slotColumn('pair', markets, ({ pair }) => pair),
  ];
}

function slotColumn<T>(
  name: string,
  slots: readonly T[],
  value: (slot: T, index: number) => string | null,
): SlotColumn {
  return { name, ...distinctTexts(slots.map(value)) };
}

/** No page ends within a segment. */
const NO_LIMITS = { maxCells: Infinity, maxSnapshots: Infinity };

/** Batches of a plan's cells, segment by segment; each is valid until the next one is made. */
function* drawn(
  plan: DayPlan,
  { group, band, slots }: ShownMarkets,
  blocks: StagedBlocks,
  batch: (page: PageSnapshots) => GivenBatch,
): Generator<GivenBatch, void> {
  const newCells = reusedCells();
  for (const { segmentId, rows } of piecesOf(plan)) {
    const runs = [decodeRun(blocks.block(segmentId))];
    const selection = { run: new Uint8Array(rows.length), row: rows };
    const input = { runs, selection, query: { group, band } };
    const cells = draw(input, slots, NO_LIMITS, () => undefined, newCells);
    yield batch(columnsOf(cells, { group }));
  }
}

const text = (name: string, value: string): ParquetColumn => ({
  name,
  type: 'VARCHAR',
  sql: literal(value),
});

/** The columns of a file of depth. @param table its rows */
export function depthSource(token: TokenName, plan: DayPlan, table: GivenTable): ParquetSource {
  const given = table.columns.map(({ name, type }): ParquetColumn => {
    return { name, type: typeof type === 'string' ? type : 'VARCHAR', sql: name };
  });
  const [t, ...rest] = given;
  return {
    columns: [text('address', token.address), t, text('tier', plan.tier), ...rest],
    from: 'given_columns()',
    table,
  };
}

/** How a file shows its rows: its token's markets, and those of the asset's other leg. */
export interface ShownDepth {
  markets: ShownMarkets;
  /** In order of first arrival. */
  own: readonly Market[];
  ofLeg: readonly Market[];
}

/** The rows of a file of depth. */
export function depthTable(
  dataset: DepthDataset,
  plan: DayPlan,
  { markets, own, ofLeg }: ShownDepth,
  blocks: StagedBlocks,
): BatchTable {
  const { columns } = markets;
  switch (dataset) {
    case 'scores':
      return new BatchTable(SCORE_COLUMNS, scoreBatches(plan, own, ofLeg, blocks));
    case 'snapshots':
      return new BatchTable(SNAPSHOT_COLUMNS, drawn(plan, markets, blocks, snapshotBatch));
    case 'cells':
      return new BatchTable(
        cellColumns(columns),
        drawn(plan, markets, blocks, (page) => cellBatch(page, columns)),
      );
  }
}

const cellColumns = (columns: readonly SlotColumn[]): GivenColumn[] => [
  number('t', 'BIGINT'),
  number('price_usd', 'DOUBLE'),
  ...columns.map(({ name, values, codes }) => {
    return { name, type: { texts: values }, nullable: codes.some((code) => code < 0) };
  }),
  number('bin', 'SMALLINT'),
  number('support_usd', 'DOUBLE'),
  number('resistance_usd', 'DOUBLE'),
  number('timestamp', 'TIMESTAMP_MS'),
  number('price', 'DOUBLE'),
];

function cellBatch(page: PageSnapshots, columns: readonly SlotColumn[]): GivenBatch {
  const { bin, index, cellOffsets, supportCents, resistanceCents } = page;
  const rowCount = bin.length;
  const t = new BigInt64Array(rowCount);
  const timestamp = new BigInt64Array(rowCount);
  const priceUsd = new Float64Array(rowCount);
  const price = new Float64Array(rowCount);
  for (let s = 0; s < page.snapshotCount; s++) {
    const [from, to] = [cellOffsets[s], cellOffsets[s + 1]];
    t.fill(BigInt(page.t[s]), from, to);
    timestamp.fill(BigInt(page.t[s]) * 1000n, from, to);
    priceUsd.fill(page.priceUsd[s], from, to);
    for (let i = from; i < to; i++) price[i] = page.priceUsd[s] * BIN_FACTORS[bin[i] - MIN_BIN];
  }
  const texts = columns.map(({ codes }) => {
    const values = new Int32Array(rowCount);
    for (let i = 0; i < rowCount; i++) values[i] = codes[index![i]];
    return values;
  });
  const usd = [supportCents, resistanceCents].map((cents) => cents.map((value) => value / 100));
  return { rowCount, columns: [t, priceUsd, ...texts, bin, ...usd, timestamp, price] };
}

const SNAPSHOT_COLUMNS: readonly GivenColumn[] = [
  number('t', 'BIGINT'),
  number('price_usd', 'DOUBLE'),
  number('cells', 'INTEGER'),
  number('support_usd', 'DOUBLE'),
  number('resistance_usd', 'DOUBLE'),
  number('timestamp', 'TIMESTAMP_MS'),
];

function snapshotBatch({
  t,
  priceUsd,
  cellOffsets,
  supportCents,
  resistanceCents,
  snapshotCount: rowCount,
}: PageSnapshots): GivenBatch {
  const usdOf = (cents: Float64Array): Float64Array =>
    Float64Array.from(t, (_, s) => {
      let sum = 0;
      for (let i = cellOffsets[s]; i < cellOffsets[s + 1]; i++) sum += cents[i];
      return sum / 100;
    });
  return {
    rowCount,
    columns: [
      BigInt64Array.from(t, (value) => BigInt(value)),
      priceUsd,
      Int32Array.from(t, (_, s) => cellOffsets[s + 1] - cellOffsets[s]),
      usdOf(supportCents),
      usdOf(resistanceCents),
      BigInt64Array.from(t, (value) => BigInt(value) * 1000n),
    ],
  };
}
