/** Bounds on what is in use at a time: a count, and bytes of replies by key. */

/** A limited count that is taken and given back. */
export class Budget {
  private takenNow = 0;

  constructor(readonly limit: number) {}

  get taken(): number {
    return this.takenNow;
  }

  /** Takes `amount`; if it would exceed the limit, takes nothing and returns false. */
  take(amount: number): boolean {
    if (this.takenNow + amount > this.limit) return false;
    this.takenNow += amount;
    return true;
  }

  give(amount: number): void {
    this.takenNow -= amount;
  }
}

export interface BytesInFlightLimits {
  /** Of all clients. */
  maxBytesInFlight: number;
  /** Of the clients of one key. */
  maxBytesInFlightPerKey: number;
}

/**
 * Bytes of replies that clients have yet to read, bounded in total and per key, so that a client that
 * requests a lot and reads nothing does not starve the others.
 */
export class BytesInFlight {
  private readonly all: Budget;
  private readonly maxPerKey: number;
  /** Keys with bytes in flight, by id. */
  private readonly keys = new Map<string, Budget>();

  constructor({ maxBytesInFlight, maxBytesInFlightPerKey }: BytesInFlightLimits) {
    this.all = new Budget(maxBytesInFlight);
    this.maxPerKey = maxBytesInFlightPerKey;
  }

  /** Bytes in flight, of all clients. */
  get taken(): number {
    return this.all.taken;
  }

  /**
   * Reserves the bytes of a reply; returns false if there are too many.
   * @param keyId null for a client without a key
   */
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
