/**
 * Means over steps of time, for pictures with many snapshots per pixel. A step is a power of two of seconds and at most
 * a pixel wide: a pixel reads a few texels, however many snapshots it contains. The card computes the means of its
 * snapshots into a texture with one column per step and one row per part of a bin. Columns and rows wrap around, so they
 * stay in place while the window moves and prices spread.
 */
import { LN_BIN } from './columns.js';
import type { Extent, Held } from './history.js';
import { newTexture, Program, select, STEPS, uploadRow } from './shaders.js';
import { ROWS, type Rows, spansOf } from './view.js';

/** Most columns of all textures, which take 64 MiB; the least recently used step lengths are removed first. */
const MAX_STEP_COLUMNS = 8192;
/** Most snapshots averaged per frame: more would delay it if there is no graphics card. */
const MAX_PER_FRAME = 1024;

/** The snapshots on the card. */
export interface Uploaded {
  held: readonly Held[];
  /** Null if there are none. */
  extent: Extent | null;
  /** Running sums of upload numbers, by time: a step with other contents has another sum. */
  numbers: Float64Array;
  /** The logarithm of the price from which bins are counted. */
  referenceLn: number;
}

interface Level {
  texture: WebGLTexture;
  /** Identifies the contents from which each column was made. */
  madeOf: Float64Array;
}

export class Steps {
  private readonly levels = new Map<number, Level>();
  private readonly program: Program;
  private readonly framebuffer: WebGLFramebuffer;
  private readonly maxColumns: number;
  private perBin = 0;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = new Program(gl, STEPS);
    this.framebuffer = gl.createFramebuffer();
    const maxTextureSize = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    this.maxColumns = Math.min(MAX_STEP_COLUMNS, maxTextureSize);
    newTexture(gl, 'stepSpans');
    // A program fails if a texture that it reads is missing.
    newTexture(gl, 'steps');
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RG16UI, 1, 1);
  }

  /**
   * Computes missing steps among those in sight, and selects their texture.
   *
   * @param shown as returned by stepsOf()
   * @returns the texture's width; 0 while more steps are missing than one frame can compute
   */
  prepare(uploaded: Uploaded, rows: Rows, stepS: number, shown: Float64Array): number {
    const { gl } = this;
    const { extent, held, numbers } = uploaded;
    const first = shown[0];
    const end = shown[shown.length - 2] + shown[shown.length - 1];
    if (rows.perBin !== this.perBin) this.clear();
    this.perBin = rows.perBin;
    const span = extent === null ? 0 : extent.to - extent.from;
    const level = this.levelOf(stepS, end - first, span / stepS + 2);
    if (level === null) return 0;
    const { madeOf } = level;
    const width = madeOf.length;
    const spans = spansOf({ from: first * stepS, to: end * stepS }, held, end - first);
    const ring = new Float32Array(2 * width);
    const stale: number[] = [];
    let snapshots = 0;
    for (let i = 0; i < end - first && snapshots < MAX_PER_FRAME; i++) {
      const [from, count] = [spans[2 * i], spans[2 * i + 1]];
      const column = (first + i) % width;
      const content = numbers[from + count] - numbers[from] + count / (2 * MAX_STEP_COLUMNS);
      if (madeOf[column] === content) continue;
      madeOf[column] = content;
      ring.set([from, count], 2 * column);
      stale.push(column);
      snapshots += Math.max(1, count);
    }
    select(gl, 'steps');
    gl.bindTexture(gl.TEXTURE_2D, level.texture);
    if (stale.length > 0) this.compute(uploaded, rows, level, ring, stale);
    return snapshots < MAX_PER_FRAME ? width : 0;
  }

  private compute(
    { referenceLn }: Uploaded,
    rows: Rows,
    { texture }: Level,
    ring: Float32Array,
    stale: readonly number[],
  ): void {
    const { gl, program } = this;
    program.use();
    program.setFloats({
      lowestBin: (rows.first + 0.5) / rows.perBin - referenceLn / LN_BIN,
      binsPerRow: 1 / rows.perBin,
    });
    program.setInts({ ringRow: rows.ring, rows: ROWS });
    uploadRow(gl, 'stepSpans', ring, 2);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    const place = gl.COLOR_ATTACHMENT0;
    gl.framebufferTexture2D(gl.FRAMEBUFFER, place, gl.TEXTURE_2D, texture, 0);
    gl.viewport(0, 0, ring.length / 2, ROWS);
    gl.enable(gl.SCISSOR_TEST);
    for (let i = 0; i < stale.length;) {
      const first = stale[i];
      let count = 0;
      while (stale[i] === first + count) [i, count] = [i + 1, count + 1];
      gl.scissor(first, 0, count, ROWS);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** The texture for a step length; null if the card has no room for the steps in sight. */
  private levelOf(stepS: number, inSight: number, all: number): Level | null {
    if (inSight > this.maxColumns) return null;
    const width = Math.min(this.maxColumns, 2 ** Math.ceil(Math.log2(Math.max(inSight, all))));
    let level = this.levels.get(stepS);
    this.levels.delete(stepS);
    if (level !== undefined && level.madeOf.length < width) {
      this.gl.deleteTexture(level.texture);
      level = undefined;
    }
    level ??= this.newLevel(width);
    this.levels.set(stepS, level);
    return level;
  }

  private newLevel(width: number): Level {
    const { gl } = this;
    let columns = width;
    for (const { madeOf } of this.levels.values()) columns += madeOf.length;
    for (const [stepS, { texture, madeOf }] of this.levels) {
      if (columns <= MAX_STEP_COLUMNS) break;
      gl.deleteTexture(texture);
      this.levels.delete(stepS);
      columns -= madeOf.length;
    }
    const texture = newTexture(gl, 'steps');
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RG16UI, width, ROWS);
    return { texture, madeOf: new Float64Array(width).fill(NaN) };
  }

  private clear(): void {
    for (const { texture } of this.levels.values()) this.gl.deleteTexture(texture);
    this.levels.clear();
  }
}
