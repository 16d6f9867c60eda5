/** Columns of a wide table that are only partly in sight. */

/** A column may be out of sight by this much, which is less than its padding. */
const TOLERANCE_PX = 4;

/**
 * Hides the cells of columns that the frame's edges or its fixed columns cut, because half a number reads as another
 * one.
 * @param frame scrolls a table sideways
 * @returns a function that ends this
 */
export function hideCutColumns(frame: HTMLElement): () => void {
  const mark = (): void => {
    const headings = [...frame.querySelectorAll('thead th')] as HTMLElement[];
    const cut = cutColumns(
      headings.map((one) => {
        const { left, right } = one.getBoundingClientRect();
        return {
          left,
          right,
          isFixed: getComputedStyle(one).left !== 'auto' || one.matches('.controls'),
        };
      }),
    );
    frame.classList.toggle('is-wide', frame.scrollWidth > frame.clientWidth);
    for (const row of frame.querySelectorAll('thead tr, tbody > tr.row'))
      for (const [at, cell] of [...row.children].entries())
        cell.classList.toggle('is-cut', cut.has(at));
  };
  const watch = new ResizeObserver(mark);
  watch.observe(frame);
  frame.addEventListener('scroll', mark, { passive: true });
  return () => {
    watch.disconnect();
    frame.removeEventListener('scroll', mark);
  };
}

interface Edges {
  left: number;
  right: number;
  /** Whether it stays in sight while the others scroll below it. */
  isFixed: boolean;
}

/** The columns of which fixed ones cover a part, but not all. */
export function cutColumns(columns: readonly Edges[]): Set<number> {
  const fixed = columns.filter(({ isFixed }) => isFixed);
  const cut = new Set<number>();
  for (const [at, { left, right, isFixed }] of columns.entries()) {
    if (isFixed) continue;
    const isCut = fixed.some(
      (one) => one.left + TOLERANCE_PX < right && left + TOLERANCE_PX < one.right,
    );
    if (isCut) cut.add(at);
  }
  return cut;
}
