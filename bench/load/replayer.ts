/** Heavy replay clients in a separate process: each requests its next page as soon as one is complete. */
import { load, type LoadResult } from '../http/client.js';

export interface ReplayOrder {
  url: string;
  paths: string[];
  headers: Record<string, string>;
  clients: number;
  /** Whether to retry pages that are refused as busy. */
  retriesBusy?: boolean;
  forMs: number;
}

export interface ReplayReport {
  pages: number;
  pagesPerSecond: number;
  megabytesPerSecond: number;
}

export async function replay({
  url,
  paths,
  headers,
  clients,
  retriesBusy,
  forMs,
}: ReplayOrder): Promise<ReplayReport> {
  const pathOf = (n: number): string => paths[n % paths.length];
  const target = { url, pathOf, headers, status: 200, retriesBusy };
  const { sortedMs, elapsedMs, bytes }: LoadResult = await load(target, clients, forMs);
  return {
    pages: sortedMs.length,
    pagesPerSecond: (1000 * sortedMs.length) / elapsedMs,
    megabytesPerSecond: bytes / 1000 / elapsedMs,
  };
}
