/** Small charts for rows of tables. */

const WIDTH = 96;
const HEIGHT = 22;

interface SparklineProps {
  values: readonly number[];
  /** What it shows, for screen readers. */
  label: string;
  /** The value of a bar of full length, up or down, so that several charts have one scale; default: as the values need. */
  reach?: number;
}

/** One bar per value, up or down from zero. */
export function Bars({ values, label, reach }: SparklineProps) {
  const [least, greatest] =
    reach === undefined ? [Math.min(0, ...values), Math.max(0, ...values)] : [-reach, reach];
  const spread = greatest - least || 1;
  const yOf = (value: number): number => ((greatest - value) / spread) * HEIGHT;
  const step = WIDTH / values.length;
  const zero = yOf(0);
  return (
    <svg
      class="bars"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      preserveAspectRatio="none"
    >
      {values.map((value, at) => {
        const height = Math.max(Math.abs(yOf(value) - zero), value === 0 ? 0 : 0.75);
        return (
          <rect
            key={at}
            class={value < 0 ? 'down' : 'up'}
            x={at * step + step * 0.1}
            y={value < 0 ? zero : zero - height}
            width={step * 0.8}
            height={height}
          />
        );
      })}
      <line x1="0" x2={WIDTH} y1={zero} y2={zero} />
    </svg>
  );
}

/** A line through the known values, scaled from the least to the greatest. */
export function Line({ values, label }: { values: readonly (number | null)[]; label: string }) {
  const known = values.flatMap((value, at) => (value === null ? [] : [{ value, at }]));
  if (known.length < 2) return null;
  const [least, greatest] = [
    Math.min(...known.map(({ value }) => value)),
    Math.max(...known.map(({ value }) => value)),
  ];
  // Changes of less than a point are drawn small.
  const spread = Math.max(1, greatest - least);
  const points = known.map(({ value, at }) => {
    const x = (at / (values.length - 1)) * WIDTH;
    const y = HEIGHT - 2 - ((value - least) / spread) * (HEIGHT - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg
      class="line"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      preserveAspectRatio="none"
    >
      <polyline points={points.join(' ')} />
    </svg>
  );
}

/** A bar that fills `share` of the width from the left. */
export function Meter({ share, tone = 'plain' }: { share: number; tone?: string }) {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return (
    <span class={`share ${tone}`} aria-hidden="true">
      <span style={{ width: `${width}%` }} />
    </span>
  );
}
