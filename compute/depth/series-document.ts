/** Renders a reply of depth over time, from segments to its body: a task of the pool. */
import { Packr } from 'msgpackr';
import type { Chain, Market } from '../market.js';
import {
  dictionaryData,
  dictionaryType,
  plainData,
  recordBatch,
  utf8Vector,
} from '../replay/arrow-columns.js';
import { compressPage, type ContentEncoding } from '../replay/compress.js';
import type { Selection } from '../replay/page.js';
import { type PageGroup, type ReplayFilter, slotsOfMarkets } from '../replay/query.js';
import {
  onlyRun,
  type PageFormat,
  type SegmentInput,
  type StopIfCancelled,
  untilCancelled,
} from '../replay/render.js';
import { arrow } from '../segment/arrow.js';
import { depthSums } from './depth-series.js';

const { Field, Float64, Schema, Table, tableToIPC, Uint32 } = arrow;

/** Value of the `format` metadata of the Arrow form. */
const ARROW_SERIES_FORMAT = 'fathom.depth-series.1';
const GROUP_TYPE = dictionaryType(0);

export const SERIES_GROUPS = ['venue', 'type'] as const;
export type SeriesGroup = (typeof SERIES_GROUPS)[number];

/** Which markets count, what they are grouped by (null: all are one), and within what percents. */
export interface SeriesQuery extends ReplayFilter {
  group: SeriesGroup | null;
  pct: readonly number[];
}

/** The fields of a reply that repeat its request. */
export interface SeriesEnvelope {
  token: string;
  chain: Chain;
  resolved_token?: string;
  window: { from: number; to: number; clamped: boolean };
  step: string;
}

/** Plain data and bytes, which cross threads. */
export interface SeriesInput {
  /** The selection's `run` indexes them. */
  segments: readonly SegmentInput[];
  /** One snapshot a point. */
  selection: Selection;
  /** Epoch seconds of each point. */
  t: readonly number[];
  markets: readonly Market[];
  query: SeriesQuery;
  envelope: SeriesEnvelope;
  nextFrom: number | null;
  format: PageFormat;
  encoding: ContentEncoding;
  /** In shared memory: the task ends once element 0 is not 0. */
  cancel?: Int32Array;
}

export type SeriesResult =
  { status: 'done'; body: Uint8Array<ArrayBuffer> } | { status: 'cancelled' };

/** Points with their sums. */
interface Series {
  t: readonly number[];
  snapshotT: number[];
  priceUsd: number[];
  groups: PageGroup[];
  /** By group, then by percent, then by point. */
  supportUsd: number[][][];
  resistanceUsd: number[][][];
}

/**
 * Decodes the segments one after another, sums, encodes and compresses.
 * @throws Error where a segment is damaged
 */
export function renderSeries(input: SeriesInput): SeriesResult {
  return untilCancelled(input, (stopIfCancelled): SeriesResult => {
    const series = seriesOf(input, stopIfCancelled);
    stopIfCancelled();
    const plain = encode(series, input);
    stopIfCancelled();
    return { status: 'done', body: compressPage(plain, input.encoding) };
  });
}

function seriesOf(
  { segments, selection, t, markets, query }: SeriesInput,
  stopIfCancelled: StopIfCancelled,
): Series {
  const points = t.length;
  const slots = slotsOfMarkets(markets, { ...query, group: query.group ?? 'all' });
  const { sums, add } = depthSums(slots.slot, slots.count, query.pct, points);
  const snapshotT = new Array<number>(points);
  const priceUsd = new Array<number>(points);
  const pointsOf = segments.map((): number[] => []);
  for (let point = 0; point < points; point++) pointsOf[selection.run[point]].push(point);
  segments.forEach((segment, s) => {
    stopIfCancelled();
    const run = onlyRun(segment);
    for (const point of pointsOf[s]) {
      const row = selection.row[point];
      snapshotT[point] = run.t[row];
      priceUsd[point] = run.priceUsd[row];
      add(run, row, point);
    }
  });
  const usd = (cents: Float64Array, group: number) =>
    query.pct.map((_, p) => {
      const from = (group * query.pct.length + p) * points;
      return Array.from(cents.subarray(from, from + points), (amount) => amount / 100);
    });
  const groups = Array.from({ length: slots.count }, (_, group) => ({
    about: slots.groups.at(group),
    support: usd(sums.supportCents, group),
    resistance: usd(sums.resistanceCents, group),
  }));
  // Groups without depth are left out: a reply about the past stays when a market appears later.
  const isEmpty = (amounts: number[][]) => amounts.every((own) => own.every((usd) => usd === 0));
  const kept =
    query.group === null
      ? groups
      : groups.filter(({ support, resistance }) => !isEmpty(support) || !isEmpty(resistance));
  return {
    t,
    snapshotT,
    priceUsd,
    groups: kept.flatMap(({ about }) => about ?? []),
    supportUsd: kept.map(({ support }) => support),
    resistanceUsd: kept.map(({ resistance }) => resistance),
  };
}

function encode(series: Series, input: SeriesInput): Uint8Array<ArrayBuffer> {
  switch (input.format) {
    case 'json':
      return new TextEncoder().encode(JSON.stringify(documentOf(series, input)));
    case 'msgpack': {
      const packr = new Packr({ useRecords: false, variableMapSize: true });
      return new Uint8Array(packr.pack(documentOf(series, input)));
    }
    case 'arrow':
      return encodeArrow(series, input);
  }
}

function headOf({ groups }: Series, { envelope, query, nextFrom }: SeriesInput) {
  return {
    head: { ...envelope, pct: query.pct, ...(query.group === null ? {} : { groups }) },
    tail: { next_from: nextFrom },
  };
}

function documentOf(series: Series, input: SeriesInput): object {
  const { head, tail } = headOf(series, input);
  const amounts = (byGroup: number[][][]) => (input.query.group === null ? byGroup[0] : byGroup);
  return {
    ...head,
    t: series.t,
    snapshot_t: series.snapshotT,
    price_usd: series.priceUsd,
    support_usd: amounts(series.supportUsd),
    resistance_usd: amounts(series.resistanceUsd),
    ...tail,
  };
}

/**
 * One row a point, percent and group, in the order of the document. Columns: `t`, `snapshot_t` uint32 (epoch
 * seconds), `price_usd` float64, with groups `group` dictionary<int32, utf8> (the group's key), `pct`,
 * `support_usd`, `resistance_usd` float64. Metadata: `format`, and `series`, the document without its columns.
 */
function encodeArrow(series: Series, input: SeriesInput): Uint8Array<ArrayBuffer> {
  const { t, snapshotT, priceUsd, groups, supportUsd, resistanceUsd } = series;
  const { pct, group } = input.query;
  const blocks = supportUsd.length * pct.length;
  const length = blocks * t.length;
  const repeated = <A extends Uint32Array | Float64Array>(column: A, values: readonly number[]) => {
    for (let block = 0; block < blocks; block++) column.set(values, block * values.length);
    return column;
  };
  const each = Array.from({ length: blocks }, (_, block) => block);
  const pcts = each.flatMap((block) => new Array<number>(t.length).fill(pct[block % pct.length]));
  const codes = each.flatMap((block) =>
    new Array<number>(t.length).fill(Math.floor(block / pct.length)),
  );
  const keys = utf8Vector(groups.map(({ key }) => key));
  const columns = [
    { name: 't', data: plainData(new Uint32(), repeated(new Uint32Array(length), t)) },
    {
      name: 'snapshot_t',
      data: plainData(new Uint32(), repeated(new Uint32Array(length), snapshotT)),
    },
    {
      name: 'price_usd',
      data: plainData(new Float64(), repeated(new Float64Array(length), priceUsd)),
    },
    ...(group === null
      ? []
      : [{ name: 'group', data: dictionaryData(GROUP_TYPE, Int32Array.from(codes), keys) }]),
    { name: 'pct', data: plainData(new Float64(), Float64Array.from(pcts)) },
    {
      name: 'support_usd',
      data: plainData(new Float64(), Float64Array.from(supportUsd.flat(2))),
    },
    {
      name: 'resistance_usd',
      data: plainData(new Float64(), Float64Array.from(resistanceUsd.flat(2))),
    },
  ];
  const { head, tail } = headOf(series, input);
  const schema = new Schema(
    columns.map(({ name, data }) => new Field(name, data.type, false)),
    new Map([
      ['format', ARROW_SERIES_FORMAT],
      ['series', JSON.stringify({ ...head, ...tail })],
    ]),
  );
  const batch = recordBatch(
    schema,
    length,
    columns.map(({ data }) => data),
  );
  return new Uint8Array(tableToIPC(new Table([batch]), 'stream'));
}
