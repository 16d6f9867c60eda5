/** How different colours look, with every kind of colour vision. */

type Vector = readonly [number, number, number];

/** Complete deficiencies of linear RGB: Machado, Oliveira and Fernandes, 2009. */
const DEFICIENCIES: readonly (readonly Vector[])[] = [
  [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
];

/** The least distance of two colours in OKLab (0 to 100), with usual vision and each deficiency. @param colours `#rrggbb` */
export function leastDifference(colours: readonly string[]): number {
  const seen = colours.map(seenAs);
  let least = Infinity;
  for (const [i, a] of seen.entries())
    for (const b of seen.slice(0, i))
      for (const [kind, [lightness, red, blue]] of a.entries()) {
        const [otherLightness, otherRed, otherBlue] = b[kind];
        const distance = Math.hypot(lightness - otherLightness, red - otherRed, blue - otherBlue);
        least = Math.min(least, 100 * distance);
      }
  return least;
}

function seenAs(colour: string): Vector[] {
  const linear = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const within = (share: number): number => Math.min(1, Math.max(0, share));
  const deficient = DEFICIENCIES.map((rows) => rows.map((row) => within(dot(row, linear))));
  return [linear, ...deficient].map(oklab);
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, one, i) => sum + one * b[i], 0);

function oklab(linear: readonly number[]): Vector {
  const cones = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
  ].map((row) => Math.cbrt(dot(row, linear)));
  return [
    dot([0.2104542553, 0.793617785, -0.0040720468], cones),
    dot([1.9779984951, -2.428592205, 0.4505937099], cones),
    dot([0.0259040371, 0.7827717662, -0.808675766], cones),
  ];
}
