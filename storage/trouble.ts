/** Something that is wrong for a while: told once when it begins, or becomes another, and once when it is over. */
export class Trouble<D> {
  private kind: string | null = null;

  constructor(private readonly listeners: { onBegan: (details: D) => void; onOver: () => void }) {}

  /** Whether it lasts. */
  get lasts(): boolean {
    return this.kind !== null;
  }

  /** @param kind the same one is told once, whatever its details */
  began(kind: string, details: D): void {
    if (kind === this.kind) return;
    this.kind = kind;
    this.listeners.onBegan(details);
  }

  over(): void {
    if (this.kind === null) return;
    this.kind = null;
    this.listeners.onOver();
  }
}
