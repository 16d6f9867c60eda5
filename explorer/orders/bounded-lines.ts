/** Lines with bounds on a chart of uPlot: the bands between the bounds lie below all lines. */
import type UPlot from 'uplot';

/** More bands would hide the lines: then only that of the line at the cursor is drawn. */
export const MAX_BANDS = 2;
/** How near the cursor is to that line. */
const REACH_PX = 32;
/** A band's share of its line's colour, in percent. */
const BAND_PCT = 16;

type Values = readonly (number | null | undefined)[];

interface BoundedValues {
  values: Values;
  bounds?: { least: Values; most: Values };
}

/** The columns of a chart with the options of boundedLines(): the bounds come first, so that they are drawn first. */
export function boundedData(x: readonly number[], lines: readonly BoundedValues[]) {
  const bounds = lines.flatMap(({ bounds: of }) => (of === undefined ? [] : [of.least, of.most]));
  return [x, ...bounds, ...lines.map(({ values }) => values)] as UPlot.AlignedData;
}

interface BoundedLine {
  label: string;
  stroke: string;
  dash?: number[];
  hasBounds: boolean;
}

export function boundedLines(lines: readonly BoundedLine[]): Pick<
  UPlot.Options,
  'series' | 'bands' | 'focus'
> & {
  cursorFocus: UPlot.Cursor.Focus;
  setSeries: (plot: UPlot, series: number | null) => void;
} {
  const bounded = lines.filter(({ hasBounds }) => hasBounds);
  const firstLine = 1 + 2 * bounded.length;
  const hasAll = bounded.length <= MAX_BANDS;
  // Bounds may be a hundred times as far apart as the lines are high: the axis is that of the lines.
  const bound = { stroke: 'transparent', width: 0, points: { show: false }, auto: false };
  /** The series of the line at the cursor. */
  let focused: number | null = null;
  const isShown = (line: BoundedLine): boolean =>
    hasAll || focused === firstLine + lines.indexOf(line);
  return {
    series: [
      {},
      ...bounded.flatMap(() => [bound, bound]),
      ...lines.map(({ label, stroke, dash = [] }): UPlot.Series => ({
        ...{ label, stroke, dash },
        width: 1.75,
        points: { show: false },
      })),
    ],
    bands: bounded.map((line, i) => ({
      series: [2 * i + 2, 2 * i + 1],
      fill: () =>
        isShown(line)
          ? `color-mix(in srgb, ${line.stroke} ${BAND_PCT}%, transparent)`
          : 'transparent',
    })),
    // Which line is at the cursor shows by its band.
    focus: { alpha: 1 },
    cursorFocus: {
      prox: REACH_PX,
      dist: (_, series, __, y, cursorY) => (series < firstLine ? Infinity : Math.abs(y - cursorY)),
    },
    setSeries: (plot, series) => {
      if (series === focused) return;
      focused = series;
      plot.redraw(false);
    },
  };
}
