/** Programs for the graphics card, and the textures that they read. */
import { CODE_GLSL } from './amounts.js';
import { BIN_COUNT, MIN_BIN } from './columns.js';
import { SHADES } from './palette.js';

/** Textures, named like the samplers that read them; each has a separate unit. */
const UNITS = ['cells', 'columns', 'spans', 'palette', 'steps', 'stepSpans'] as const;
type Unit = (typeof UNITS)[number];

/** The code of a step without data. */
const NO_DATA = '65535u';

const VERTEX = `#version 300 es
void main() {
  // One triangle that covers everything.
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

const HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
uniform usampler2D cells;  // x: bin, y: slot; codes of support and resistance
uniform sampler2D columns; // by time: its price in bins from the reference price; its slot
${CODE_GLSL}
// The amounts of a snapshot; bins are counted from the reference price.
vec2 snapshotUsd(int index, float binOfAll) {
  vec2 column = texelFetch(columns, ivec2(index, 0), 0).rg;
  float bin = binOfAll - column.r;
  int x = int(floor(bin + 0.5)) - (${MIN_BIN});
  if (x < 0 || x >= ${BIN_COUNT}) return vec2(0.0);
  uvec2 codes = texelFetch(cells, ivec2(x, int(column.g)), 0).rg;
  // The bin of the price shows its support below the price, and its resistance above.
  bool isSplit = x == ${-MIN_BIN} && codes.r > 0u && codes.g > 0u;
  return vec2(
    !isSplit || bin < 0.0 ? usdOf(codes.r) : 0.0,
    !isSplit || bin >= 0.0 ? usdOf(codes.g) : 0.0
  );
}`;

/** Draws the picture. */
export const PICTURE = `${HEAD}
uniform sampler2D spans; // by column of pixels: its first snapshot or step, how many; bottom and top of the price line
uniform usampler2D steps; // x: step, y: price; codes of support and resistance
uniform sampler2D palette;
uniform bool isOfSteps;
uniform float bottomBin, binsPerPixel, bottomRow, rowsPerPixel;
uniform int ringRow, rowCount;
uniform float log2Low, log2Span, pixelRatio, linePx, hatchPx;
uniform vec3 ground, hatch, line;
out vec4 colour;

vec3 cellsAt(int first, int count) {
  vec3 gap = mod((gl_FragCoord.x + gl_FragCoord.y + hatchPx) / pixelRatio, 8.0) < 1.0 ? hatch : ground;
  if (count == 0) return first == 1 ? gap : ground;
  // If a pixel is higher than a bin, the mean of its bins.
  int taps = int(clamp(ceil(binsPerPixel), 1.0, 4.0));
  ivec2 size = textureSize(steps, 0);
  int samples = 0;
  vec2 usd = vec2(0.0);
  for (int tap = 0; tap < taps; tap++) {
    float y = gl_FragCoord.y + (float(tap) + 0.5) / float(taps) - 0.5;
    float bin = bottomBin + y * binsPerPixel;
    int row = int(floor(bottomRow + y * rowsPerPixel));
    int rowAt = (row + ringRow) % size.y;
    bool hasRow = row >= 0 && row < rowCount;
    for (int i = first; i < first + count; i++) {
      if (isOfSteps) {
        uvec2 codes = texelFetch(steps, ivec2(i % size.x, hasRow ? rowAt : 0), 0).rg;
        if (codes.r == ${NO_DATA}) continue;
        if (hasRow) usd += vec2(usdOf(codes.r), usdOf(codes.g));
      } else {
        usd += snapshotUsd(i, bin);
      }
      samples++;
    }
  }
  if (samples == 0) return gap;
  usd /= float(samples);
  float larger = max(usd.r, usd.g);
  if (larger <= 0.0) return ground;
  float shade = clamp((log2(larger) - log2Low) / log2Span, 0.0, 1.0);
  ivec2 at = ivec2(int(shade * ${SHADES - 1}.0 + 0.5), usd.r >= usd.g ? 0 : 1);
  return texelFetch(palette, at, 0).rgb;
}

void main() {
  vec4 span = texelFetch(spans, ivec2(gl_FragCoord.x, 0), 0);
  float fromLine = max(span.b - gl_FragCoord.y, gl_FragCoord.y - span.a);
  vec3 under = cellsAt(int(span.r), int(span.g));
  // The price line, with a contrasting rim.
  under = mix(under, ground, 0.55 * clamp(2.7 * linePx / 2.0 - fromLine + 0.5, 0.0, 1.0));
  colour = vec4(mix(under, line, clamp(linePx / 2.0 - fromLine + 0.5, 0.0, 1.0)), 1.0);
}`;

/** Computes the means of steps (steps.ts). */
export const STEPS = `${HEAD}
uniform sampler2D stepSpans; // by step: its first snapshot, how many
uniform float lowestBin, binsPerRow;
uniform int ringRow, rows;
out uvec4 codes;
void main() {
  vec2 span = texelFetch(stepSpans, ivec2(gl_FragCoord.x, 0), 0).rg;
  codes = uvec4(${NO_DATA});
  if (span.g == 0.0) return;
  int row = (int(gl_FragCoord.y) - ringRow + rows) % rows;
  vec2 usd = vec2(0.0);
  for (int i = int(span.r); i < int(span.r + span.g); i++)
    usd += snapshotUsd(i, lowestBin + float(row) * binsPerRow);
  codes.rg = uvec2(codeOf(usd.r / span.g), codeOf(usd.g / span.g));
}`;

export class Program {
  private readonly program: WebGLProgram;
  private readonly places = new Map<string, WebGLUniformLocation | null>();

  /** @throws Error with the compiler's message */
  constructor(
    private readonly gl: WebGL2RenderingContext,
    fragment: string,
  ) {
    this.program = gl.createProgram();
    for (const [type, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, fragment],
    ] as const) {
      const shader = gl.createShader(type) as WebGLShader;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (gl.getProgramParameter(this.program, gl.LINK_STATUS) !== true && !gl.isContextLost()) {
      const shaders = gl.getAttachedShaders(this.program);
      const logs = shaders?.map((shader) => gl.getShaderInfoLog(shader));
      throw new Error(`WebGL: ${gl.getProgramInfoLog(this.program)} ${logs?.join(' ')}`);
    }
    this.use();
    for (const [unit, name] of UNITS.entries()) gl.uniform1i(this.place(name), unit);
  }

  use(): void {
    this.gl.useProgram(this.program);
  }

  setFloats(values: Record<string, number>): void {
    for (const [name, value] of Object.entries(values)) this.gl.uniform1f(this.place(name), value);
  }

  setInts(values: Record<string, number>): void {
    for (const [name, value] of Object.entries(values)) this.gl.uniform1i(this.place(name), value);
  }

  setColour(name: string, colour: readonly number[]): void {
    this.gl.uniform3fv(
      this.place(name),
      colour.map((channel) => channel / 255),
    );
  }

  /** Null if the program does not use the name. */
  private place(name: string): WebGLUniformLocation | null {
    const known = this.places.get(name);
    if (known !== undefined) return known;
    const place = this.gl.getUniformLocation(this.program, name);
    this.places.set(name, place);
    return place;
  }
}

export function select(gl: WebGL2RenderingContext, unit: Unit): void {
  gl.activeTexture(gl.TEXTURE0 + UNITS.indexOf(unit));
}

/** Creates a texture in its unit, to be read texel by texel. */
export function newTexture(gl: WebGL2RenderingContext, unit: Unit): WebGLTexture {
  const texture = gl.createTexture();
  select(gl, unit);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
    gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
  return texture;
}

/** Uploads a row of numbers into a unit's texture, `channels` per texel. */
export function uploadRow(
  gl: WebGL2RenderingContext,
  unit: Unit,
  numbers: Float32Array,
  channels: 2 | 4,
): void {
  select(gl, unit);
  const [inner, format] = channels === 2 ? [gl.RG32F, gl.RG] : [gl.RGBA32F, gl.RGBA];
  const width = numbers.length / channels;
  gl.texImage2D(gl.TEXTURE_2D, 0, inner, width, 1, 0, format, gl.FLOAT, numbers);
}
