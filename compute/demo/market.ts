/**
 * The simulated market behind `fathom demo`: about sixty tokens on both chains, a pure function of
 * a seed and the time. Any piece of it can be made in any order, on any thread, and carried on by
 * a live collector from wherever the history ends. Every dataset has a file of its own beside this
 * one, drawing on `demoTokens`, `fairPrice` and the hashes.
 */

/** The market that `fathom demo` shows unless told otherwise. */
export const DEMO_SEED = 20_261;

export { demoTokens, demoTokenRows, type DemoToken } from './tokens.js';
export { demoFlatChanges, demoFlatRows, type DemoRows } from './flat.js';
export { demoSnapshotRow } from './snapshot.js';
export {
  DEMO_15M_S,
  DEMO_1H_S,
  DEMO_RAW_S,
  demoPlan,
  demoSnapshotTimes,
  type DemoUnit,
} from './schedule.js';
export type { DemoSnapshotRow, DemoTokenRow } from './rows.js';
