/** A token's depth over time. */
import type { DepthHeatmapProps } from './props.js';

export function DepthHeatmap({ address }: DepthHeatmapProps) {
  return <div class="heatmap">{address}</div>;
}
