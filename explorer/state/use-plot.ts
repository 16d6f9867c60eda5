/** A chart of uPlot, for as long as its component is shown. */
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

interface Plot {
  /** The element that the chart fills, as wide and high as it is. */
  root: RefObject<HTMLDivElement | null>;
  /** Null until the component is shown. */
  plot: RefObject<UPlot | null>;
}

/**
 * @param remadeWith the chart is made anew when one of these changes
 * @param redrawnWith it gets `data` when one of these changes
 */
export function usePlot(
  optionsOf: (element: HTMLElement) => UPlot.Options,
  data: UPlot.AlignedData,
  remadeWith: readonly unknown[],
  redrawnWith: readonly unknown[],
): Plot {
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const made = new UPlot(optionsOf(element), data, element);
    plot.current = made;
    const watch = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, remadeWith);
  useEffect(() => plot.current?.setData(data), redrawnWith);
  return { root, plot };
}
