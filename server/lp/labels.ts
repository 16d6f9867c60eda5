/** Whether the names that boards show of tokens have changed. */
import type { TokenTable } from '../tokens/token-table.js';

export class Labels {
  private readonly known = new Map<string, string>();
  private changes = 0;

  constructor(private readonly state: Pick<TokenTable, 'token'>) {}

  /** Grows whenever a token's symbol, name or icon is another one. */
  get revision(): number {
    return this.changes;
  }

  /** Looks at tokens that have just been loaded. */
  look(addresses: readonly string[]): void {
    for (const address of addresses) {
      const details = this.state.token(address)?.details;
      if (details === undefined) continue;
      const label = JSON.stringify([details.symbol, details.name, details.icon]);
      if (this.known.get(address) === label) continue;
      this.known.set(address, label);
      this.changes++;
    }
  }
}
