/** Summarizes the rows: each server's best way of a kind, compared with Fathom's in the same run. */
import type { PeerRow } from './measure.js';
import type { PageFormat } from './peer.js';

/** A server's best way of a kind with a number of clients. */
export interface PeerSummary {
  peer: string;
  clients: number;
  way: string;
  format: PageFormat;
  coding: string;
  pagesPerSecond: number;
  bytes: number;
  /** Fathom's pages per second divided by this server's; null if Fathom has no such row. */
  fathomTimes: Record<FathomState, number | null>;
  /**
   * The server's CPU time per page divided by Fathom's, which does not depend on the clients' share of the cores.
   */
  cpuTimes: Record<FathomState, number | null>;
}

type FathomState = 'fragments' | 'cold';

const FATHOM = 'Fathom';

/** The best way is the one with the most pages per second. */
export function summaryOf(rows: readonly PeerRow[]): PeerSummary[] {
  const groups = new Map<string, PeerRow[]>();
  for (const row of rows.filter(({ peer }) => peer !== FATHOM)) {
    const key = [row.peer, kindOf(row), row.clients].join();
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()].map((group) => {
    const best = bestOf(group);
    const { peer, clients, way, format, coding, pagesPerSecond, bytes } = best;
    const against = (state: FathomState) => ratios(best, fathomRow(rows, state, best));
    const [kept, cold] = [against('fragments'), against('cold')];
    return {
      peer,
      clients,
      way,
      format,
      coding,
      pagesPerSecond,
      bytes,
      fathomTimes: { fragments: kept.pages, cold: cold.pages },
      cpuTimes: { fragments: kept.cpu, cold: cold.cpu },
    };
  });
}

/** Ways of one kind do the same work for a client, better or worse. Arrow without gzip is another kind. */
function kindOf({ format, contentCoding }: PeerRow): string {
  return format === 'Arrow' ? `${format} ${contentCoding}` : format;
}

/**
 * Fathom's row to compare a way with: for fragments, its JSON with gzip, the only format that it keeps; for cold pages, its
 * page of the same kind, or for Parquet, which is compressed inside, Arrow with gzip.
 */
function fathomRow(rows: readonly PeerRow[], state: FathomState, beside: PeerRow) {
  const isJson = state === 'fragments' || beside.format === 'JSON';
  const contentCoding = beside.format === 'Arrow' && !isJson ? beside.contentCoding : 'gzip';
  return rows.find(
    (row) =>
      row.peer === FATHOM &&
      row.state === state &&
      row.format === (isJson ? 'JSON' : 'Arrow') &&
      row.contentCoding === contentCoding &&
      row.clients === beside.clients,
  );
}

function bestOf(rows: readonly PeerRow[]): PeerRow {
  return rows.reduce((best, row) => (row.pagesPerSecond > best.pagesPerSecond ? row : best));
}

function ratios(peer: PeerRow, fathom: PeerRow | undefined) {
  if (fathom === undefined) return { pages: null, cpu: null };
  const [cpu, own] = [peer.cpuMsPerPage, fathom.cpuMsPerPage];
  return {
    pages: fathom.pagesPerSecond / peer.pagesPerSecond,
    cpu: cpu === null || own === null || own === 0 ? null : cpu / own,
  };
}
