import { TextCoder } from '../../compute/binning/text-column.js';
import type { TextCodes } from './cell-batch.js';

/**
 * A text column that is read batch by batch, each run of equal values once. The codes of a batch stand
 * until the next one is read.
 */
export class RepeatedTexts {
  private codes = new Uint32Array(0);
  /** The value that the batch before ended with. */
  private last: unknown = null;

  /**
   * Codes of a batch's rows.
   * @param changes whether a row differs from the row before, in the batch before too
   */
  read(
    rows: number,
    changes: (row: number) => boolean,
    value: (row: number) => unknown,
  ): TextCodes {
    const coder = new TextCoder();
    if (this.codes.length < rows) this.codes = new Uint32Array(rows);
    const { codes } = this;
    let code = -1;
    for (let row = 0; row < rows; row++) {
      if (changes(row)) {
        this.last = value(row);
        code = coder.code(this.last);
      } else if (code < 0) {
        code = coder.code(this.last);
      }
      codes[row] = code;
    }
    return { codes, size: coder.values.length, value: (of) => coder.values[of] };
  }
}
