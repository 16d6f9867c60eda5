/** When each key was last used, to the hour; the table `key_uses` follows. */

/** A key's id, and the start of the hour in which it was last used (epoch seconds). */
export type KeyUse = [keyId: string, usedAtS: number];

export class KeyUses {
  private readonly lastByKey = new Map<string, number>();
  private readonly writtenByKey = new Map<string, number>();
  /** Ids of keys whose last use was not reported to other nodes yet. */
  private unreported = new Set<string>();

  constructor(written: readonly KeyUse[]) {
    for (const [keyId, usedAtS] of written) this.lastByKey.set(keyId, usedAtS);
    this.written(written);
  }

  /** @returns whether it is later than the last known use */
  take(keyId: string, usedAtS: number): boolean {
    if (usedAtS <= (this.lastByKey.get(keyId) ?? -Infinity)) return false;
    this.lastByKey.set(keyId, usedAtS);
    this.unreported.add(keyId);
    return true;
  }

  /** Epoch seconds; null if none is known. */
  lastS(keyId: string): number | null {
    return this.lastByKey.get(keyId) ?? null;
  }

  /** Uses of some keys that must be written. Call written() with them afterwards. */
  unwritten(keyIds: readonly string[]): KeyUse[] {
    return this.of(keyIds).filter(([keyId, usedAtS]) => this.writtenByKey.get(keyId) !== usedAtS);
  }

  written(uses: readonly KeyUse[]): void {
    for (const [keyId, usedAtS] of uses) this.writtenByKey.set(keyId, usedAtS);
  }

  /** Uses to report to other nodes. @param isAll whether to report all again */
  toReport(isAll: boolean): KeyUse[] {
    const keyIds = isAll ? [...this.lastByKey.keys()] : [...this.unreported];
    this.unreported = new Set();
    return this.of(keyIds);
  }

  private of(keyIds: readonly string[]): KeyUse[] {
    return keyIds.flatMap((keyId) => {
      const usedAtS = this.lastByKey.get(keyId);
      return usedAtS === undefined ? [] : [[keyId, usedAtS] as KeyUse];
    });
  }
}
