/** Rows of one holder snapshot on their way in. */

const FIRST_CAPACITY = 64;

/** Owners and balances in the order of the file. */
export class HolderColumns {
  length = 0;
  private owners = new Uint32Array(FIRST_CAPACITY);
  private balances = new Float64Array(FIRST_CAPACITY);
  private lines: Float64Array | null;

  /** @param keepsLines whether faults may be found later: each row's line is then kept too */
  constructor(keepsLines: boolean) {
    this.lines = keepsLines ? new Float64Array(FIRST_CAPACITY) : null;
  }

  push(owner: number, balance: number, line: number): void {
    if (this.length === this.owners.length) this.grow();
    this.owners[this.length] = owner;
    this.balances[this.length] = balance;
    if (this.lines !== null) this.lines[this.length] = line;
    this.length++;
  }

  owner(row: number): number {
    return this.owners[row];
  }

  balance(row: number): number {
    return this.balances[row];
  }

  lineOf(row: number): number {
    return this.lines?.[row] ?? 0;
  }

  clear(): void {
    this.length = 0;
  }

  /**
   * The columns as copies, ascending by owner.
   * @param scratch a number for each owner of the file
   */
  sorted(scratch: Float64Array): { owner: Uint32Array; balance: Float64Array } {
    const owner = this.owners.slice(0, this.length);
    if (isAscending(owner)) return { owner, balance: this.balances.slice(0, this.length) };
    owner.forEach((id, i) => (scratch[id] = this.balances[i]));
    owner.sort();
    return { owner, balance: Float64Array.from(owner, (id) => scratch[id]) };
  }

  private grow(): void {
    const capacity = 2 * this.length;
    const { owners, balances, lines } = this;
    this.owners = new Uint32Array(capacity);
    this.owners.set(owners);
    this.balances = new Float64Array(capacity);
    this.balances.set(balances);
    if (lines === null) return;
    this.lines = new Float64Array(capacity);
    this.lines.set(lines);
  }
}

function isAscending(owner: Uint32Array): boolean {
  for (let i = 1; i < owner.length; i++) if (owner[i] <= owner[i - 1]) return false;
  return true;
}
