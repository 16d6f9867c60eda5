/** Bounds on simultaneous use: of a count, and of the bytes of replies by key. */

/** A limited count that is taken and given back. */
export class Budget {
  taken = 0;

  constructor(readonly limit: number) {}

  /** Takes `amount`; if it would exceed the limit, takes nothing and returns false. */
  take(amount: number): boolean {
    if (this.taken + amount > this.limit) return false;
    this.taken += amount;
    return true;
  }

  /** Takes `amount` even beyond the limit. */
  add(amount: number): void {
    this.taken += amount;
  }

  give(amount: number): void {
    this.taken -= amount;
  }

  get isFull(): boolean {
    return this.taken >= this.limit;
  }
}

export interface BytesInFlightLimits {
  /** Of all clients. */
  maxBytesInFlight: number;
  /** Of the clients of one key. */
  maxBytesInFlightPerKey: number;
  /** Of the clients without a key, whose budget is separate. */
  maxKeylessBytesInFlight: number;
}

/**
 * Bytes of replies that clients have yet to read, bounded in total and per key, so that a client that
 * requests a lot and reads nothing does not starve the others. Clients without a key share a separate budget.
 */
export class BytesInFlight {
  private readonly keyed: Budget;
  private readonly keyless: Budget;
  private readonly maxPerKey: number;
  /** Keys with bytes in flight, by id. */
  private readonly keys = new Map<string, Budget>();

  constructor(limits: BytesInFlightLimits) {
    this.keyed = new Budget(limits.maxBytesInFlight);
    this.keyless = new Budget(limits.maxKeylessBytesInFlight);
    this.maxPerKey = limits.maxBytesInFlightPerKey;
  }

  /** Bytes in flight, of all clients. */
  get taken(): number {
    return this.keyed.taken + this.keyless.taken;
  }

  /** The largest reply that there is ever room for. */
  mostOf(keyId: string | null): number {
    return keyId === null ? this.keyless.limit : Math.min(this.maxPerKey, this.keyed.limit);
  }

  /**
   * Reserves the bytes of a reply, or returns which limit they exceed: this key's, or the total.
   * @param keyId null for a client without a key
   */
  take(keyId: string | null, bytes: number): 'taken' | 'full for the key' | 'full' {
    if (bytes === 0) return 'taken';
    if (keyId === null) return this.keyless.take(bytes) ? 'taken' : 'full';
    const own = this.keys.get(keyId) ?? new Budget(this.maxPerKey);
    if (!own.take(bytes)) return 'full for the key';
    if (this.keyed.take(bytes)) {
      this.keys.set(keyId, own);
      return 'taken';
    }
    own.give(bytes);
    return 'full';
  }

  /** Counts bytes that already wait, even beyond the limits. */
  add(keyId: string | null, bytes: number): void {
    if (bytes === 0) return;
    if (keyId === null) {
      this.keyless.add(bytes);
      return;
    }
    const own = this.keys.get(keyId) ?? new Budget(this.maxPerKey);
    this.keys.set(keyId, own);
    own.add(bytes);
    this.keyed.add(bytes);
  }

  /** Which limit is reached: this key's, or the total. */
  fullness(keyId: string | null): 'none' | 'full for the key' | 'full' {
    if ((keyId === null ? this.keyless : this.keyed).isFull) return 'full';
    const own = keyId === null ? undefined : this.keys.get(keyId);
    return own?.isFull === true ? 'full for the key' : 'none';
  }

  give(keyId: string | null, bytes: number): void {
    if (bytes === 0) return;
    (keyId === null ? this.keyless : this.keyed).give(bytes);
    const own = keyId === null ? undefined : this.keys.get(keyId);
    if (keyId === null || own === undefined) return;
    own.give(bytes);
    if (own.taken === 0) this.keys.delete(keyId);
  }
}
