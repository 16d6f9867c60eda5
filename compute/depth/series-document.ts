/** The reply body of depth over time, from the sums of its snapshots. */
import type { Data } from 'apache-arrow';
import { packMaps } from '../messagepack.js';
import type { Chain, Market } from '../market.js';
import {
  dictionaryData,
  dictionaryType,
  nullableDoubles,
  plainData,
  recordBatch,
  utf8Vector,
} from '../replay/arrow-columns.js';
import { compressPage, type ContentEncoding } from '../replay/compress.js';
import { onlyListed } from '../replay/names.js';
import {
  bytesOfGroup,
  type PageGroup,
  type ReplayFilter,
  slotsOfMarkets,
} from '../replay/query.js';
import type { PageFormat } from '../replay/page-format.js';
import { arrow } from '../segment/arrow.js';
import type { DepthWithin } from './depth-series.js';

const { Field, Float64, Schema, Table, tableToIPC, Uint32 } = arrow;

/** Value of the `format` metadata of the Arrow version. */
const ARROW_SERIES_FORMAT = 'fathom.depth-series.1';
const GROUP_TYPE = dictionaryType(0);

export const SERIES_GROUPS = ['venue', 'type'] as const;
type SeriesGroup = (typeof SERIES_GROUPS)[number];

/** Which markets count, how they are grouped (null: not at all), and within which percents. */
export interface SeriesQuery extends ReplayFilter {
  group: SeriesGroup | null;
  pct: readonly number[];
}

/** The reply's fields that repeat the request. */
export interface SeriesEnvelope {
  token: string;
  chain: Chain;
  resolved_token?: string;
  venues_not_found?: string[];
  window: { from: number; to: number; clamped: boolean };
  step: string;
}

/** Plain data and bytes that can cross threads. */
interface SeriesInput {
  /** Epoch seconds of each point, and of the snapshot behind it. */
  t: readonly number[];
  snapshotT: readonly number[];
  /** As DepthWithin describes them, one list per point. */
  numbers: Float64Array;
  /** By point, if requested. */
  score: readonly (number | null)[] | null;
  /** What sumsOfQuery() says of the groups. */
  groups: readonly PageGroup[];
  groupCount: number;
  query: SeriesQuery;
  envelope: SeriesEnvelope;
  nextFrom: number | null;
  format: PageFormat;
  encoding: ContentEncoding;
}

/** Points with their sums. */
interface Series extends Pick<SeriesInput, 't' | 'snapshotT' | 'score'> {
  priceUsd: number[];
  groups: PageGroup[];
  /** By group, then by percent, then by point. */
  supportUsd: number[][][];
  resistanceUsd: number[][][];
}

/** What to sum for each snapshot of a query, and the groups. */
export function sumsOfQuery(
  markets: readonly Market[],
  { group, pct, ...filter }: SeriesQuery,
): { sums: DepthWithin; groups: PageGroup[] } {
  const { slot, count, groups } = slotsOfMarkets(markets, { ...filter, group: group ?? 'all' });
  return { sums: { kind: 'within', slot, groupCount: count, pct }, groups };
}

/** The groups with names only where a reply lists them, and the bytes of those names. */
export function namesOfSeries(
  groups: readonly PageGroup[],
  numbers: Float64Array,
  { groupCount, pct }: DepthWithin,
): { groups: PageGroup[]; bytes: number } {
  const perSide = groupCount * pct.length;
  const hasDepth = new Uint8Array(groupCount);
  for (let at = 0; at < numbers.length; at += 1 + 2 * perSide) {
    for (let i = 0; i < 2 * perSide; i++) {
      if (numbers[at + 1 + i] !== 0) hasDepth[Math.floor((i % perSide) / pct.length)] = 1;
    }
  }
  const listed = onlyListed(groups, (group) => hasDepth[group] === 1);
  return { groups: listed, bytes: listed.reduce((sum, group) => sum + bytesOfGroup(group), 0) };
}

/** Encodes and compresses: a task of the pool. */
export function encodeSeries(input: SeriesInput): { body: Uint8Array<ArrayBuffer> } {
  return { body: compressPage(encode(seriesOf(input), input), input.encoding) };
}

function seriesOf({ t, snapshotT, numbers, score, query, ...input }: SeriesInput): Series {
  const perSide = input.groupCount * query.pct.length;
  const width = 1 + 2 * perSide;
  const column = (at: number) => t.map((_, point) => numbers[point * width + at]);
  const usd = (from: number, group: number) =>
    query.pct.map((_, p) =>
      column(from + group * query.pct.length + p).map((cents) => cents / 100),
    );
  const groups = Array.from({ length: input.groupCount }, (_, group) => ({
    about: input.groups.at(group),
    support: usd(1, group),
    resistance: usd(1 + perSide, group),
  }));
  // Groups without depth are left out: a reply about the past must not change when a market appears later.
  const isEmpty = (amounts: number[][]) => amounts.every((own) => own.every((usd) => usd === 0));
  const kept =
    query.group === null
      ? groups
      : groups.filter(({ support, resistance }) => !isEmpty(support) || !isEmpty(resistance));
  return {
    t,
    snapshotT,
    score,
    priceUsd: column(0),
    groups: kept.flatMap(({ about }) => about ?? []),
    supportUsd: kept.map(({ support }) => support),
    resistanceUsd: kept.map(({ resistance }) => resistance),
  };
}

function encode(series: Series, input: SeriesInput): Uint8Array<ArrayBuffer> {
  switch (input.format) {
    case 'json':
      return new TextEncoder().encode(JSON.stringify(documentOf(series, input)));
    case 'msgpack':
      return new Uint8Array(packMaps(documentOf(series, input)));
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
    ...(series.score === null ? {} : { score: series.score }),
    support_usd: amounts(series.supportUsd),
    resistance_usd: amounts(series.resistanceUsd),
    ...tail,
  };
}

/**
 * One row a point, percent and group, in the order of the document. Columns: `t`, `snapshot_t` uint32 (epoch
 * seconds), `price_usd` float64, with scores `score` float64 (nullable), with groups `group` dictionary<int32, utf8> (the group's key), `pct`,
 * `support_usd`, `resistance_usd` float64. Metadata: `format`, and `series`, the document without its columns.
 */
function encodeArrow(series: Series, input: SeriesInput): Uint8Array<ArrayBuffer> {
  const { t, snapshotT, priceUsd, score, groups, supportUsd, resistanceUsd } = series;
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
  const columns: { name: string; data: Data; nullable?: boolean }[] = [
    { name: 't', data: plainData(new Uint32(), repeated(new Uint32Array(length), t)) },
    {
      name: 'snapshot_t',
      data: plainData(new Uint32(), repeated(new Uint32Array(length), snapshotT)),
    },
    {
      name: 'price_usd',
      data: plainData(new Float64(), repeated(new Float64Array(length), priceUsd)),
    },
    ...(score === null
      ? []
      : [{ name: 'score', data: nullableDoubles(each.flatMap(() => score)), nullable: true }]),
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
    columns.map(({ name, data, nullable = false }) => new Field(name, data.type, nullable)),
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
