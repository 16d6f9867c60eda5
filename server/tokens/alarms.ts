/** When tokens change by the clock alone. */
export class Alarms {
  private readonly byToken = new Map<number, number>();
  private readonly byTime = new Map<number, Set<number>>();

  /** Sets a token's one alarm; null: none. */
  set(tokenId: number, atS: number | null): void {
    const before = this.byToken.get(tokenId);
    if (before !== undefined) {
      const tokens = this.byTime.get(before);
      tokens?.delete(tokenId);
      if (tokens?.size === 0) this.byTime.delete(before);
      this.byToken.delete(tokenId);
    }
    if (atS === null) return;
    this.byToken.set(tokenId, atS);
    const tokens = this.byTime.get(atS);
    if (tokens === undefined) this.byTime.set(atS, new Set([tokenId]));
    else tokens.add(tokenId);
  }

  /** The tokens whose alarm has come; it is taken off. */
  due(nowS: number): number[] {
    const due: number[] = [];
    for (const [atS, tokens] of this.byTime) if (atS <= nowS) due.push(...tokens);
    for (const tokenId of due) this.set(tokenId, null);
    return due;
  }
}
