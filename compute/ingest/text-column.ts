/** Text columns as codes into a list of distinct values: small to hand over, fast to compare. */

/** Row `i` holds `values[codes[i]]`; two rows are equal exactly where their codes are. */
export interface TextColumn {
  codes: Uint32Array;
  /** Distinct values: strings, null, undefined, or whatever an untrusted row held instead. */
  values: readonly unknown[];
}

/** Numbers values in the order of their first arrival. */
export class TextCoder {
  readonly values: unknown[] = [];
  private readonly codes = new Map<unknown, number>();
  private lastValue: unknown = NaN;
  private lastCode = -1;

  /** The value's code; what repeats the value before costs one comparison. */
  code(value: unknown): number {
    if (value === this.lastValue) return this.lastCode;
    let code = this.codes.get(value);
    if (code === undefined) {
      code = this.values.push(value) - 1;
      this.codes.set(value, code);
    }
    this.lastValue = value;
    this.lastCode = code;
    return code;
  }
}

/** A column of values, coded. */
export function textColumn(values: readonly unknown[]): TextColumn {
  const coder = new TextCoder();
  const codes = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) codes[i] = coder.code(values[i]);
  return { codes, values: coder.values };
}
