/** What a fill of the simulated market is asked for. */
import { demoTokens, type DemoToken } from '../../compute/demo/market.js';
import type { ComputePool } from '../../compute/pool.js';
import type { UseStore } from '../ingest/ingest.js';
import type { FileReport } from '../ingest/prepared.js';

/** What faults call the simulation where a file would be named. */
export const SOURCE = 'simulated market';

export interface DemoRequest {
  directory: string;
  pool: ComputePool;
  useStore: UseStore;
  /** Which tokens are simulated; without it all of them. */
  only?: (token: DemoToken) => boolean;
  /** Told after every commit of depth: units done and to do, and what has been stored so far. */
  onProgress?: (done: number, of: number, stored: DemoTotals) => void;
  signal?: AbortSignal;
}

/** Rows, snapshots and cells of everything that a fill has stored. */
export type DemoTotals = Omit<FileReport, 'file'>;

/** The tokens that are simulated. */
export function tokensOf({ only = () => true }: DemoRequest, seed: number): DemoToken[] {
  return demoTokens(seed).filter(only);
}
