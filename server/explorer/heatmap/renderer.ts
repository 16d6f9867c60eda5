/**
 * Draws cells with WebGL2. Every snapshot is a row of one texture, uploaded once. A pixel looks up the
 * snapshots of its column of pixels, finds its bin in each and shows the mean: a frame costs by pixels
 * and by the snapshots in sight, not by cells, and no data move while one pans.
 */
import { CODE_GLSL, type Scale } from './amounts.js';
import { BIN_COUNT, type Column, LN_BIN, MIN_BIN } from './columns.js';
import { type Held, MAX_DRAWN_SNAPSHOTS } from './history.js';
import { groundOf, hatchOf, paletteTexture, SHADES, type Theme } from './palette.js';
import type { View } from './view.js';

const VERTEX = `#version 300 es
void main() {
  // One triangle that covers everything.
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform usampler2D cells;      // x: bin, y: slot; codes of support and resistance
uniform highp sampler2D columns;  // by time: its price in bins from the reference price; its slot
uniform usampler2D spans;      // by column of pixels: index of the first snapshot, number of them
uniform sampler2D palette;
uniform uint maxSamples;
uniform float bottomBin, binsPerPixel, log2Low, log2Span, pixelRatio;
uniform vec3 ground, hatch;
out vec4 colour;
${CODE_GLSL}
void main() {
  uvec2 span = texelFetch(spans, ivec2(gl_FragCoord.x, 0), 0).rg;
  colour = vec4(ground, 1.0);
  if (span.g == 0u) {
    float stripe = mod((gl_FragCoord.x + gl_FragCoord.y) / pixelRatio, 8.0);
    if (span.r == 1u && stripe < 1.0) colour.rgb = hatch;
    return;
  }
  // Where a pixel is higher than a bin, the mean of the bins in it.
  int taps = int(clamp(ceil(binsPerPixel), 1.0, 4.0));
  uint stride = (span.g + maxSamples - 1u) / maxSamples;
  float samples = 0.0;
  vec2 usd = vec2(0.0);
  for (uint i = stride / 2u; i < span.g; i += stride) {
    vec2 column = texelFetch(columns, ivec2(span.r + i, 0), 0).rg;
    samples += 1.0;
    for (int tap = 0; tap < taps; tap++) {
      float y = gl_FragCoord.y + (float(tap) + 0.5) / float(taps) - 0.5;
      float bin = bottomBin + y * binsPerPixel - column.r;
      int x = int(floor(bin + 0.5)) - (${MIN_BIN});
      if (x < 0 || x >= ${BIN_COUNT}) continue;
      uvec2 codes = texelFetch(cells, ivec2(x, int(column.g)), 0).rg;
      // The bin of the price shows its support below the price, and its resistance above.
      bool isSplit = x == ${-MIN_BIN} && codes.r > 0u && codes.g > 0u;
      if (!isSplit || bin < 0.0) usd.r += usdOf(codes.r);
      if (!isSplit || bin >= 0.0) usd.g += usdOf(codes.g);
    }
  }
  usd /= samples * float(taps);
  float larger = max(usd.r, usd.g);
  if (larger <= 0.0) return;
  float shade = clamp((log2(larger) - log2Low) / log2Span, 0.0, 1.0);
  ivec2 at = ivec2(int(shade * ${SHADES - 1}.0 + 0.5), usd.r >= usd.g ? 0 : 1);
  colour = texelFetch(palette, at, 0);
}`;

/** Texture units, and the samplers of the shader that read them. */
const UNITS = ['cells', 'columns', 'spans', 'palette'] as const;

export interface Frame {
  view: View;
  /** As spansOf() makes them, one a column of pixels. */
  spans: Uint32Array;
  scale: Scale;
  theme: Theme;
  pixelRatio: number;
  /** Snapshots that one pixel looks at; where there are more, they are taken at even distances. */
  maxSamples: number;
}

export class Renderer {
  /** Rows that the card's textures can have. */
  readonly maxSnapshots: number;
  private readonly textures: WebGLTexture[];
  private readonly uniforms = new Map<string, WebGLUniformLocation | null>();
  /** The codes that each slot of the card has. */
  private readonly uploaded: (Column['codes'] | undefined)[] = [];
  private referenceLn = 0;
  private theme: Theme | null = null;

  private constructor(private readonly gl: WebGL2RenderingContext) {
    this.maxSnapshots = Math.min(
      MAX_DRAWN_SNAPSHOTS,
      gl.getParameter(gl.MAX_TEXTURE_SIZE) as number,
    );
    const program = programOf(gl);
    gl.useProgram(program);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.textures = UNITS.map((name, unit) => {
      const texture = gl.createTexture();
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
        gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
      }
      gl.uniform1i(gl.getUniformLocation(program, name), unit);
      return texture;
    });
    this.select('cells');
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RG16UI, BIN_COUNT, this.maxSnapshots);
    this.select('columns');
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RG32F, this.maxSnapshots, 1);
    for (let i = 0; i < (gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) as number); i++) {
      const name = gl.getActiveUniform(program, i)?.name ?? '';
      this.uniforms.set(name, gl.getUniformLocation(program, name));
    }
  }

  /** Null where the browser has no WebGL2. */
  static on(canvas: HTMLCanvasElement): Renderer | null {
    const gl = canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false });
    return gl === null || gl.isContextLost() ? null : new Renderer(gl);
  }

  /** Uploads what is new. */
  upload(held: readonly Held[]): void {
    const { gl } = this;
    this.select('cells');
    for (const { slot, codes } of held) {
      if (this.uploaded[slot] === codes) continue;
      const [format, type] = [gl.RG_INTEGER, gl.UNSIGNED_SHORT];
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, slot, BIN_COUNT, 1, format, type, codes);
      this.uploaded[slot] = codes;
    }
    this.referenceLn = held.at(-1)?.lnPrice ?? 0;
    const columns = new Float32Array(2 * held.length);
    for (const [i, { slot, lnPrice }] of held.entries()) {
      columns[2 * i] = (lnPrice - this.referenceLn) / LN_BIN;
      columns[2 * i + 1] = slot;
    }
    this.select('columns');
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, held.length, 1, gl.RG, gl.FLOAT, columns);
  }

  draw({ view, spans, scale, theme, pixelRatio, maxSamples }: Frame): void {
    const { gl } = this;
    const { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    this.select('spans');
    const [format, type] = [gl.RG_INTEGER, gl.UNSIGNED_INT];
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RG32UI, spans.length / 2, 1, 0, format, type, spans);
    if (theme !== this.theme) this.setTheme(theme);
    const [log2Low, log2High] = [Math.log2(scale.lowUsd), Math.log2(scale.highUsd)];
    this.set('bottomBin', (view.lnLow - this.referenceLn) / LN_BIN);
    this.set('binsPerPixel', (view.lnHigh - view.lnLow) / LN_BIN / height);
    this.set('log2Low', log2Low);
    this.set('log2Span', log2High - log2Low);
    this.set('pixelRatio', pixelRatio);
    gl.uniform1ui(this.uniforms.get('maxSamples') ?? null, maxSamples);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  private setTheme(theme: Theme): void {
    const { gl } = this;
    this.theme = theme;
    this.select('palette');
    const [format, type] = [gl.RGBA, gl.UNSIGNED_BYTE];
    const texture = paletteTexture(theme);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, SHADES, 2, 0, format, type, texture);
    for (const [name, colour] of [
      ['ground', groundOf(theme)],
      ['hatch', hatchOf(theme)],
    ] as const) {
      gl.uniform3fv(
        this.uniforms.get(name) ?? null,
        colour.map((channel) => channel / 255),
      );
    }
  }

  private set(name: string, value: number): void {
    this.gl.uniform1f(this.uniforms.get(name) ?? null, value);
  }

  private select(name: (typeof UNITS)[number]): void {
    const unit = UNITS.indexOf(name);
    this.gl.activeTexture(this.gl.TEXTURE0 + unit);
    this.gl.bindTexture(this.gl.TEXTURE_2D, this.textures[unit]);
  }
}

/** @throws Error with the compiler's words */
function programOf(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type) as WebGLShader;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) !== true && !gl.isContextLost()) {
    const logs = gl.getAttachedShaders(program)?.map((shader) => gl.getShaderInfoLog(shader));
    throw new Error(`WebGL: ${gl.getProgramInfoLog(program)} ${logs?.join(' ')}`);
  }
  return program;
}
