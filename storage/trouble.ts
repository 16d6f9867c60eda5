/** A condition that lasts for a while: reported once when it begins or its kind changes, and once when it ends. */
export class Trouble<D> {
  private kind: string | null = null;

  constructor(private readonly listeners: { onBegan: (details: D) => void; onOver: () => void }) {}

  get lasts(): boolean {
    return this.kind !== null;
  }

  /** @param kind reported once as long as it lasts, even if the details change */
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
