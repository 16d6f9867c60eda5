/** The state of one key's limits: its buckets, each made when it is first drawn on, and its quota. */
import type { KeyRecord, UsageSource } from '../../storage/seams.js';
import type { RateBucket } from '../api/endpoint.js';
import { GcraBucket } from './gcra.js';
import { drawnBucket, type DrawnBucket } from './headers.js';
import { SHARED_BUCKET, planOfKey, type Plan, type Plans } from './plans.js';
import { KeyQuota } from './quota.js';

const US_PER_S = 1_000_000;

export class KeyLimits {
  readonly quota: KeyQuota;
  private readonly plans: Plans;
  private record: KeyRecord;
  private plan: Plan;
  private buckets = new Map<RateBucket, DrawnBucket>();
  /** What each endpoint's buckets come to, by its list of them. */
  private drawn = new WeakMap<readonly RateBucket[], readonly DrawnBucket[]>();

  constructor(record: KeyRecord, plans: Plans, usage: UsageSource) {
    this.plans = plans;
    this.record = record;
    this.plan = planOfKey(plans, record);
    this.quota = new KeyQuota(record.id, usage);
  }

  /** Calls a month; Infinity: unlimited. */
  get monthlyQuota(): number {
    return this.plan.monthlyQuota;
  }

  /** Takes the key as it is now. Buckets start anew where its figures have changed. */
  adopt(record: KeyRecord): void {
    const before = this.record;
    if (record === before) return;
    this.record = record;
    this.plan = planOfKey(this.plans, record);
    const { tier, requestsPerMinute } = record;
    if (tier === before.tier && requestsPerMinute === before.requestsPerMinute) return;
    this.buckets = new Map();
    this.drawn = new WeakMap();
  }

  /** The buckets that a request to an endpoint with these draws on, each once. */
  drawnBy(names: readonly RateBucket[]): readonly DrawnBucket[] {
    let drawn = this.drawn.get(names);
    if (drawn === undefined) {
      drawn = [...new Set(names.map((name) => this.bucket(name)))];
      this.drawn.set(names, drawn);
    }
    return drawn;
  }

  /** Nothing would be lost by forgetting this: every bucket is full and no call in progress. */
  isIdle(nowUs: number): boolean {
    if (!this.quota.idle) return false;
    for (const { bucket } of this.buckets.values()) {
      if (bucket !== null && bucket.fullInUs(nowUs) > 0) return false;
    }
    return true;
  }

  private bucket(name: RateBucket): DrawnBucket {
    const found = this.buckets.get(name);
    if (found !== undefined) return found;
    const rule = this.plan.rates[name];
    if (rule === SHARED_BUCKET) return this.bucket(SHARED_BUCKET);
    const { requests, periodS } = rule;
    const bucket = requests === Infinity ? null : new GcraBucket(requests, periodS * US_PER_S);
    const made = drawnBucket(name, bucket, periodS);
    this.buckets.set(name, made);
    return made;
  }
}
