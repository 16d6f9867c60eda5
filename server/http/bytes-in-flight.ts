/**
 * Bytes of replies that clients have yet to take, within a bound for all of them and one for each key:
 * a client that asks for much and reads nothing leaves room for the others.
 */
import { Budget } from './budget.js';

export interface BytesInFlightLimits {
  /** Over all clients. */
  maxBytesInFlight: number;
  /** Of one key's clients. */
  maxBytesInFlightPerKey: number;
}

export class BytesInFlight {
  private readonly all: Budget;
  private readonly maxPerKey: number;
  /** Keys with bytes in flight, by id. */
  private readonly keys = new Map<string, Budget>();

  constructor({ maxBytesInFlight, maxBytesInFlightPerKey }: BytesInFlightLimits) {
    this.all = new Budget(maxBytesInFlight);
    this.maxPerKey = maxBytesInFlightPerKey;
  }

  /** Takes room for a reply, or none and says false; `keyId` null: one to a client without a key. */
  take(keyId: string | null, bytes: number): boolean {
    if (bytes === 0) return true;
    if (keyId === null) return this.all.take(bytes);
    const own = this.keys.get(keyId) ?? new Budget(this.maxPerKey);
    if (!own.take(bytes)) return false;
    if (this.all.take(bytes)) {
      this.keys.set(keyId, own);
      return true;
    }
    own.give(bytes);
    return false;
  }

  give(keyId: string | null, bytes: number): void {
    if (bytes === 0) return;
    this.all.give(bytes);
    const own = keyId === null ? undefined : this.keys.get(keyId);
    if (keyId === null || own === undefined) return;
    own.give(bytes);
    if (own.taken === 0) this.keys.delete(keyId);
  }
}
