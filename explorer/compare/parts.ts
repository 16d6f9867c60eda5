/** Which parts of a single token the page Compare compares. */
import type { CompareView } from '../state/url.js';

/** Whether a metric can compare the venues or types of a single token. */
export const hasParts = (metric: CompareView['metric']): boolean =>
  metric === 'depth' || metric === 'maps';

/** The kind of parts to compare: venues or types of a single token; null: compare tokens. */
export function partsOf({ parts, metric, tokens }: CompareView): CompareView['parts'] {
  return tokens.length === 1 && hasParts(metric) ? parts : null;
}

/** Whether a metric is the cost of an order. */
export const isCost = (metric: CompareView['metric']): metric is 'cost' | 'cost-time' =>
  metric === 'cost' || metric === 'cost-time';
