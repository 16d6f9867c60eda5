/** The state of one key's limits: its rate buckets and its calls this month. */
import { HOUR_MS } from '../../compute/time.js';
import type { KeyRecord, UsageSource } from '../../storage/contract.js';
import type { RateBucket } from '../api/endpoint.js';
import { Bucket } from './buckets.js';
import { MonthAccount } from './month-account.js';
import { type Plan, SHARED_BUCKET } from './plans.js';

/** The buckets that a request draws on, each once. */
export interface DrawnBuckets {
  readonly buckets: readonly Bucket[];
  /** The value of `RateLimit-Policy`. */
  readonly policyText: string;
}

/** A key's buckets, each created at its first use, and its account of the month. */
export class KeyLimits {
  private account: MonthAccount | null = null;
  /** Start of the hour of the last call (epoch seconds). */
  private usedHourS = 0;
  private buckets = new Map<RateBucket, Bucket>();
  /** Buckets by an endpoint's list of their names. */
  private drawn = new WeakMap<readonly RateBucket[], DrawnBuckets>();

  constructor(
    public record: KeyRecord,
    public plan: Plan,
    private readonly usage: UsageSource,
  ) {}

  /** Records a use of the key. */
  use(wallMs: number): void {
    const hourS = Math.floor(wallMs / HOUR_MS) * (HOUR_MS / 1000);
    if (hourS === this.usedHourS) return;
    this.usedHourS = hourS;
    this.usage.use(this.record.id, hourS);
  }

  /** Adopts a changed record of the key. If its limits changed, its buckets start full. */
  adopt(record: KeyRecord, plan: Plan): void {
    const before = this.record;
    this.record = record;
    this.plan = plan;
    const { tier, requestsPerMinute } = record;
    if (tier === before.tier && requestsPerMinute === before.requestsPerMinute) return;
    this.buckets = new Map();
    this.drawn = new WeakMap();
  }

  drawnBy(names: readonly RateBucket[]): DrawnBuckets {
    let drawn = this.drawn.get(names);
    if (drawn === undefined) {
      const buckets = [...new Set(names.map((name) => this.bucket(name)))];
      drawn = { buckets, policyText: buckets.map(({ policyText }) => policyText).join(', ') };
      this.drawn.set(names, drawn);
    }
    return drawn;
  }

  /** The account of the month of `wallMs`; calls admitted earlier keep theirs. */
  accountAt(wallMs: number): MonthAccount {
    const { account } = this;
    if (account !== null && wallMs >= account.startMs && wallMs < account.endMs) return account;
    this.account = new MonthAccount(this.record.id, wallMs, this.usage);
    return this.account;
  }

  private bucket(name: RateBucket): Bucket {
    const found = this.buckets.get(name);
    if (found !== undefined) return found;
    const rule = this.plan.rates[name];
    if (rule === SHARED_BUCKET) return this.bucket(SHARED_BUCKET);
    const bucket = new Bucket(name, rule.requests, rule.periodS);
    this.buckets.set(name, bucket);
    return bucket;
  }
}
