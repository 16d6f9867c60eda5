/** Sums up the rows: each server's best way, compared with Fathom's in the same run. */
import type { PeerRow } from './measure.js';
import type { PageState } from './peer.js';

/** A server's best way with a number of clients. */
export interface PeerSummary {
  peer: string;
  clients: number;
  way: string;
  coding: string;
  pagesPerSecond: number;
  bytes: number;
  /** Fathom's pages a second divided by this server's, both with gzip; null where Fathom has no such row. */
  fathomTimes: Record<PageState, number | null>;
  /**
   * The server's CPU time per page divided by Fathom's, which does not depend on the clients' share
   * of the cores.
   */
  cpuTimes: Record<PageState, number | null>;
}

const FATHOM = 'Fathom';

/** The best way is the one with the most pages a second. */
export function summaryOf(rows: readonly PeerRow[]): PeerSummary[] {
  const peers = [...new Set(rows.map(({ peer }) => peer))].filter((peer) => peer !== FATHOM);
  const counts = [...new Set(rows.map(({ clients }) => clients))];
  return peers.flatMap((peer) =>
    counts.map((clients) => {
      const best = bestOf(rows.filter((row) => row.peer === peer && row.clients === clients));
      const { way, coding, pagesPerSecond, bytes } = best;
      const against = (state: PageState) => ratios(best, fathomRow(rows, state, clients));
      const [kept, cold] = [against('fragments'), against('cold')];
      return {
        ...{ peer, clients, way, coding, pagesPerSecond, bytes },
        fathomTimes: { fragments: kept.pages, cold: cold.pages },
        cpuTimes: { fragments: kept.cpu, cold: cold.cpu },
      };
    }),
  );
}

function bestOf(rows: readonly PeerRow[]): PeerRow {
  return rows.reduce((best, row) => (row.pagesPerSecond > best.pagesPerSecond ? row : best));
}

function fathomRow(rows: readonly PeerRow[], state: PageState, clients: number) {
  return rows.find(
    (row) =>
      row.peer === FATHOM &&
      row.state === state &&
      row.coding === 'gzip' &&
      row.clients === clients,
  );
}

function ratios(peer: PeerRow, fathom: PeerRow | undefined) {
  if (fathom === undefined) return { pages: null, cpu: null };
  const [cpu, own] = [peer.cpuMsPerPage, fathom.cpuMsPerPage];
  return {
    pages: fathom.pagesPerSecond / peer.pagesPerSecond,
    cpu: cpu === null || own === null || own === 0 ? null : cpu / own,
  };
}
