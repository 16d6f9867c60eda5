/** Numbers for objects that are replaced and never changed, to name a state of them in a key. */
export class Versions {
  private readonly numbers = new WeakMap<object, number>();
  private last = 0;

  /** The same number for the same object, another one for any other; 0 for null. */
  of(object: object | null): number {
    if (object === null) return 0;
    let number = this.numbers.get(object);
    if (number === undefined) {
      number = ++this.last;
      this.numbers.set(object, number);
    }
    return number;
  }
}
