/**
 * What a reply says of its key's limits: the X- headers of api.md 8, and the fields of
 * draft-ietf-httpapi-ratelimit-headers-10, which list every bucket that the request drew from.
 */
import type { Headers } from '../http/exchange.js';
import type { RateBucket } from '../api/endpoint.js';
import type { LimitClock } from './clock.js';
import type { GcraBucket } from './gcra.js';
import type { MonthAccount } from './quota.js';

/**
 * How a limit that is unlimited is told, as the headers hold numbers: above every figure that can be
 * configured, and small enough for a client that keeps 32 bits.
 */
export const UNLIMITED = 2_147_483_647;
const UNLIMITED_TEXT = String(UNLIMITED);

/** A bucket as requests draw on it, with the parts of its headers that never change. */
export interface DrawnBucket {
  readonly name: RateBucket;
  /** null: unlimited. */
  readonly bucket: GcraBucket | null;
  readonly limitText: string;
  /** `"general";q=12;w=60` */
  readonly policyText: string;
}

export function drawnBucket(
  name: RateBucket,
  bucket: GcraBucket | null,
  periodS: number,
): DrawnBucket {
  const limitText = bucket === null ? UNLIMITED_TEXT : String(bucket.requests);
  return { name, bucket, limitText, policyText: `"${name}";q=${limitText};w=${periodS}` };
}

/**
 * The bucket that lets the fewest requests through now; of equals the one that takes longest to let
 * the next one through.
 */
export function tighter(drawn: readonly DrawnBucket[], nowUs: number): DrawnBucket {
  let tightest = drawn[0];
  for (let i = 1; i < drawn.length; i++) {
    const [a, b] = [tightest.bucket, drawn[i].bucket];
    if (b === null) continue;
    const fewer = a === null ? -1 : b.remaining(nowUs) - a.remaining(nowUs);
    if (fewer < 0 || (fewer === 0 && b.waitUs(nowUs) > (a as GcraBucket).waitUs(nowUs))) {
      tightest = drawn[i];
    }
  }
  return tightest;
}

/**
 * The headers of one reply. Resets are rounded up to whole seconds: a bucket's is the moment when it
 * is full again, the quota's the first of the next UTC month.
 */
export function limitHeaders(
  drawn: readonly DrawnBucket[],
  account: MonthAccount,
  quota: number,
  clock: LimitClock,
): Headers {
  const nowUs = clock.steadyUs();
  const tightest = tighter(drawn, nowUs);
  const { bucket } = tightest;
  const used = account.used;
  const unlimited = quota === Infinity;
  const fullAtMs = clock.wallMs() + (bucket === null ? 0 : bucket.fullInUs(nowUs) / 1000);
  return [
    ['X-RateLimit-Limit', tightest.limitText],
    ['X-RateLimit-Remaining', remainingText(bucket, nowUs)],
    ['X-RateLimit-Reset', String(Math.ceil(fullAtMs / 1000))],
    ['X-Quota-Limit', unlimited ? UNLIMITED_TEXT : String(quota)],
    ['X-Quota-Used', String(used)],
    ['X-Quota-Remaining', unlimited ? UNLIMITED_TEXT : String(Math.max(quota - used, 0))],
    ['X-Quota-Reset', String(account.month.endMs / 1000)],
    ['RateLimit-Policy', drawn.map(({ policyText }) => policyText).join(', ')],
    ['RateLimit', drawn.map((one) => stateText(one, nowUs)).join(', ')],
  ];
}

/** `"general";r=11;t=5` */
function stateText({ name, bucket }: DrawnBucket, nowUs: number): string {
  const fullInS = bucket === null ? 0 : Math.ceil(bucket.fullInUs(nowUs) / 1_000_000);
  return `"${name}";r=${remainingText(bucket, nowUs)};t=${fullInS}`;
}

function remainingText(bucket: GcraBucket | null, nowUs: number): string {
  return bucket === null ? UNLIMITED_TEXT : String(bucket.remaining(nowUs));
}
