/** What `fathom replay` tells: its progress, and what it wrote. */
import { isoOf } from '../../compute/time.js';
import type { DownloadResult, ReplayState } from '../download/download.js';
import type { ReplayFormat } from '../download/formats.js';
import { ReplayError } from '../download/request.js';
import type { TokenOutcome } from '../download/several.js';
import { count, counted } from './output.js';

/** The file of a token. */
interface Written {
  format: ReplayFormat;
  out: string;
}

/** Downloaded share of the window's time. */
export function share({ totals, rest, paged }: ReplayState): number {
  if (paged || totals === null || rest === null) return paged ? 1 : 0;
  const { from, to } = totals.head.window;
  return (rest.from - from) / (to - from);
}

export function progressText({ totals, rest }: ReplayState): string {
  if (totals === null) return 'first page';
  const upTo = rest === null ? '' : `, up to ${isoOf(rest.from)}`;
  return `${counted(totals.pages, 'page')}, ${counted(totals.cells, 'cell')}${upTo}`;
}

export function resultText(
  { format, out }: Written,
  { totals, resumedPages }: DownloadResult,
  seconds: number,
): string {
  const { pages, snapshots, cells, head } = totals;
  const notes = [
    ...(resumedPages === 0 ? [] : [`${count(resumedPages)} of the pages from an earlier run`]),
    ...(head.window.clamped ? ['the window was clamped to the last 365 days'] : []),
    ...(totals.venuesNotFound.length === 0
      ? []
      : [`venues not found: ${totals.venuesNotFound.join(', ')}`]),
  ];
  const noted = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
  return `${out}: ${counted(snapshots, 'snapshot')}, ${counted(cells, 'cell')} of ${counted(pages, 'page')} as ${format} in ${seconds.toFixed(1)} s${noted}`;
}

export function jsonResult(
  { format, out }: Written,
  { totals, bytes, resumedPages }: DownloadResult,
  seconds?: number,
): object {
  const { head, pages, snapshots, cells } = totals;
  const { window } = head;
  return {
    out,
    format,
    bytes,
    token: head.token,
    ...(head.resolved_token === undefined ? {} : { resolved_token: head.resolved_token }),
    chain: head.chain,
    group: head.group,
    from: window.from,
    to: window.to,
    clamped: window.clamped,
    served_from: totals.servedFrom,
    served_to: totals.servedTo,
    venues_not_found: totals.venuesNotFound,
    pages,
    resumed_pages: resumedPages,
    snapshots,
    cells,
    seconds,
  };
}

export function severalText(outcomes: readonly TokenOutcome[]): string {
  const results = outcomes.map(({ result }) => result);
  const earlier = results.filter((result) => result === 'earlier').length;
  const empty = results.filter((result) => result instanceof ReplayError).length;
  const notes = [
    ...(earlier === 0 ? [] : [`${count(earlier)} from an earlier run`]),
    ...(empty === 0 ? [] : [`${counted(empty, 'token')} without data`]),
  ];
  const files = counted(results.length - empty, 'file');
  return notes.length === 0 ? files : `${files} (${notes.join('; ')})`;
}
