/**
 * Draws cells and the price line with WebGL2. Every snapshot is a row of one texture, uploaded once. A pixel looks up
 * the snapshots of its column of pixels, finds its bin in each and shows the mean; if there are many snapshots, it reads
 * the means of steps of time instead. Panning moves no data.
 */
import type { Scale } from './amounts.js';
import { BIN_COUNT, type Column, LN_BIN } from './columns.js';
import { type History, MAX_DRAWN_SNAPSHOTS } from './history.js';
import { groundOf, hatchOf, paletteTexture, priceColourOf, SHADES, type Theme } from './palette.js';
import { newTexture, PICTURE, Program, select, uploadRow } from './shaders.js';
import { Steps, type Uploaded } from './steps.js';
import { priceLineOf, rowsOf, spansOf, stepOf, stepsOf, type View } from './view.js';

interface Frame {
  view: View;
  scale: Scale;
  theme: Theme;
  pixelRatio: number;
  /** Width of the price line in pixels of the canvas. */
  linePx: number;
  /** Pixels of the canvas, from its lower left corner. */
  width: number;
  height: number;
  /** Where the hatching of gaps begins: parts of a picture have one hatching. */
  hatchPx: number;
  /** Whether this is a part of the picture drawn before, with the same steps. */
  isPart: boolean;
}

export class Renderer {
  /** Most rows that the card's textures can have. */
  readonly maxSnapshots: number;
  private readonly program: Program;
  private readonly steps: Steps;
  /** The codes in each slot of the card, and the number of the upload that wrote them. */
  private readonly slots: { codes: Column['codes']; number: number }[] = [];
  private uploads = 0;
  private uploaded: Uploaded = {
    held: [],
    extent: null,
    numbers: new Float64Array(1),
    referenceLn: 0,
  };
  private theme: Theme | null = null;
  /** The step length of the picture; null if pixels read snapshots singly. */
  private stepS: number | null = null;

  private constructor(private readonly gl: WebGL2RenderingContext) {
    this.maxSnapshots = Math.min(
      MAX_DRAWN_SNAPSHOTS,
      gl.getParameter(gl.MAX_TEXTURE_SIZE) as number,
    );
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.program = new Program(gl, PICTURE);
    newTexture(gl, 'cells');
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RG16UI, BIN_COUNT, this.maxSnapshots);
    for (const unit of ['columns', 'spans', 'palette'] as const) newTexture(gl, unit);
    this.steps = new Steps(gl);
  }

  /** Null if the browser has no WebGL2. */
  static on(canvas: HTMLCanvasElement): Renderer | null {
    const gl = canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false });
    return gl === null || gl.isContextLost() ? null : new Renderer(gl);
  }

  /** Uploads new snapshots. */
  upload(history: History): void {
    const { gl, slots } = this;
    const { held } = history;
    const referenceLn = held.at(-1)?.lnPrice ?? 0;
    const columns = new Float32Array(2 * Math.max(1, held.length));
    const numbers = new Float64Array(held.length + 1);
    select(gl, 'cells');
    for (const [i, { slot, codes, lnPrice }] of held.entries()) {
      if (slots[slot]?.codes !== codes) {
        const [format, type] = [gl.RG_INTEGER, gl.UNSIGNED_SHORT];
        gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, slot, BIN_COUNT, 1, format, type, codes);
        slots[slot] = { codes, number: ++this.uploads };
      }
      columns.set([(lnPrice - referenceLn) / LN_BIN, slot], 2 * i);
      numbers[i + 1] = numbers[i] + slots[slot].number;
    }
    uploadRow(gl, 'columns', columns, 2);
    const extent = history.extent();
    this.uploaded = { held, extent, numbers, referenceLn };
  }

  /** @returns false if the picture needs another frame to be complete */
  draw({ view, scale, theme, width, height, isPart, ...frame }: Frame): boolean {
    const { gl, program, uploaded } = this;
    if (theme !== this.theme) this.setTheme(theme);
    const { held, referenceLn } = uploaded;
    const spans = spansOf(view, held, width);
    const line = priceLineOf(view, held, width);
    const texels = new Float32Array(4 * width);
    for (let x = 0; x < width; x++) {
      texels.set(spans.subarray(2 * x, 2 * x + 2), 4 * x);
      texels.set([line[2 * x] * height, line[2 * x + 1] * height], 4 * x + 2);
    }
    program.use();
    program.setInts({ isOfSteps: 0 });
    if (!isPart) this.stepS = this.stepOf(view, width);
    const isWhole = this.showSteps(view, texels, height);
    program.setFloats({
      bottomBin: (view.lnLow - referenceLn) / LN_BIN,
      binsPerPixel: (view.lnHigh - view.lnLow) / LN_BIN / height,
    });
    const log2Low = Math.log2(scale.lowUsd);
    const log2Span = Math.log2(scale.highUsd) - log2Low;
    const { pixelRatio, linePx, hatchPx } = frame;
    program.setFloats({ log2Low, log2Span, pixelRatio, linePx, hatchPx });
    uploadRow(gl, 'spans', texels, 4);
    gl.viewport(0, 0, width, height);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    return isWhole;
  }

  /** The name of the steps of time and price that a view shows. */
  detailOf(view: View, widthPx: number): string {
    const { extent } = this.uploaded;
    return `${this.stepOf(view, widthPx)} ${extent && rowsOf(extent)?.perBin}`;
  }

  private stepOf(view: View, widthPx: number): number | null {
    const { held } = this.uploaded;
    const inView = held.filter(({ t }) => t >= view.from && t < view.to);
    return stepOf(view, inView.length, widthPx);
  }

  /**
   * If a pixel has many snapshots, points the texels of the pixels at steps instead.
   *
   * @returns false if some steps are not ready
   */
  private showSteps(view: View, texels: Float32Array, height: number): boolean {
    const { program, steps, uploaded, stepS } = this;
    const widthPx = texels.length / 4;
    const rows = uploaded.extent && rowsOf(uploaded.extent);
    if (stepS === null || rows === null) return true;
    const shown = stepsOf(view, stepS, widthPx);
    const columns = steps.prepare(uploaded, rows, stepS, shown);
    program.use();
    if (columns === 0) return false;
    for (let x = 0; x < widthPx; x++) {
      // There are no steps before the first snapshot.
      const isBefore = texels[4 * x] === 0 && texels[4 * x + 1] === 0;
      if (!isBefore) texels.set([shown[2 * x] % columns, shown[2 * x + 1]], 4 * x);
    }
    program.setInts({ isOfSteps: 1, ringRow: rows.ring, rowCount: rows.count });
    program.setFloats({
      bottomRow: (view.lnLow / LN_BIN) * rows.perBin - rows.first,
      rowsPerPixel: ((view.lnHigh - view.lnLow) / LN_BIN / height) * rows.perBin,
    });
    return true;
  }

  private setTheme(theme: Theme): void {
    const { gl, program } = this;
    this.theme = theme;
    select(gl, 'palette');
    const [format, type] = [gl.RGBA, gl.UNSIGNED_BYTE];
    const texture = paletteTexture(theme);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, SHADES, 2, 0, format, type, texture);
    program.use();
    program.setColour('ground', groundOf(theme));
    program.setColour('hatch', hatchOf(theme));
    program.setColour('line', priceColourOf(theme));
  }
}
