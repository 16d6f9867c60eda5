/** Places in which things come and go: one after another stands in each, each for its own time. */
import { hash, unit } from './hash.js';

/** What stands in a place at a moment. */
export interface Tenancy {
  /** A hash of its own. */
  key: number;
  fromS: number;
  toS: number;
}

/**
 * Who is in a place at `t`: places change hands every `staysS`, at moments of their own.
 * @param back 1 for the one before, and so on
 */
export function tenancyAt(placeKey: number, staysS: number, t: number, back = 0): Tenancy {
  const phase = hash(placeKey, 1) % staysS;
  const turn = Math.floor((t - phase) / staysS) - back;
  const fromS = turn * staysS + phase;
  return { key: hash(hash(placeKey, 2), turn), fromS, toS: fromS + staysS };
}

/** A duration between `minS` and `maxS`, short ones as likely as long ones on a scale of logs. */
export function logDuration(h: number, minS: number, maxS: number): number {
  return Math.round(minS * Math.pow(maxS / minS, unit(h)));
}
