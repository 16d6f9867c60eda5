/** What live connections cost a key: its requests and its quota (docs/live.md#limits). */
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { HOUR_MS } from '../../compute/time.js';
import type { KeyRecord } from '../../storage/contract.js';
import { type LimitedEndpoint, type PlanCheck, type PlanGrant, USUAL } from '../api/endpoint.js';
import { ApiError } from '../http/errors.js';

/** The longest wait of a key that exceeds its rate; a longer one means that its quota is used up. */
const MAX_WAIT_S = 60;

/** Pays for one subscription: when it begins, and for each further hour. */
export class Account {
  private paidUntilMs = performance.now() + HOUR_MS;

  /** @param endpoint whose requests the payments count as */
  constructor(
    private readonly check: PlanCheck,
    private readonly key: () => KeyRecord,
    private readonly endpoint: LimitedEndpoint,
  ) {}

  get keyId(): string {
    return this.key().id;
  }

  /** Holds one request, which is charged once it is settled with a success. @throws ApiError 401, 403, 429 */
  hold(): PlanGrant {
    return this.check(this.key(), this.endpoint);
  }

  /** Charges one request. @throws ApiError 401, 403, 429 */
  pay(): void {
    this.hold().settle(200);
  }

  /** Pays for the next hour once the paid one is over. @throws ApiError as tryToPay() */
  payHour(nowMs: number): void {
    if (nowMs < this.paidUntilMs) return;
    const waitMs = this.tryToPay();
    this.paidUntilMs = nowMs + (waitMs > 0 ? waitMs : HOUR_MS);
  }

  /**
   * Charges one request, unless the key has to wait.
   * @returns milliseconds to wait before another attempt; 0: it has paid
   * @throws ApiError 401, 403, or 429 for a quota that is used up or too small
   */
  tryToPay(): number {
    try {
      this.pay();
      return 0;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429) throw error;
      const waitS = Number(error.headers.find(([name]) => name === 'Retry-After')?.[1] ?? Infinity);
      if (waitS > MAX_WAIT_S) throw error;
      return waitS * 1000;
    }
  }
}

/** Subscriptions and their history count as requests of this endpoint. */
export const STREAM: LimitedEndpoint = { ...USUAL, method: 'GET', path: '/stream' };

/** Charges history like replay pages. What a message sends beyond the paid page counts towards the next page. */
export class PageMeter {
  /** Snapshots and cells left of the paid page; negative: already sent of the next page. */
  private snapshots = 0;
  private cells = 0;

  constructor(private readonly account: Account) {}

  /**
   * Pays for another page if the paid one is used up.
   * @returns milliseconds to wait before another attempt; 0: the next message is paid for @throws ApiError as tryToPay()
   */
  pay(): number {
    if (this.snapshots > 0 && this.cells > 0) return 0;
    const waitMs = this.account.tryToPay();
    if (waitMs > 0) return waitMs;
    this.snapshots = PAGE_LIMITS.maxSnapshots + Math.min(this.snapshots, 0);
    this.cells = PAGE_LIMITS.maxCells + Math.min(this.cells, 0);
    return 0;
  }

  /** Call for each message of history that was sent. */
  sent({ snapshotCount, rowCount }: { snapshotCount: number; rowCount: number }): void {
    this.snapshots -= snapshotCount;
    this.cells -= rowCount;
  }
}
