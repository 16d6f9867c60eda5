/** The cursor's lines, and the amounts at the cursor. */
import type { ComponentChildren } from 'preact';
import { BIN_RATIO } from '../ladder/ladder.js';
import { usd } from '../state/format.js';
import type { Cursor } from './cursor.js';
import type { Share } from './split.js';
import { distanceText as axisDistance, priceText, timeText } from './ticks.js';

/** The shares, or why they are missing; `deferred`: the key has no request to spare for them yet. */
export type Split = Share[] | 'waiting' | 'deferred' | 'failed';

interface ReadoutProps {
  cursor: Cursor;
  split: Split;
  /** The price from which the axis shows distances; null if it shows prices. */
  baseUsd: number | null;
  /** What else is at the cursor. */
  children?: ComponentChildren;
}

export function Readout({ cursor, split, baseUsd, children }: ReadoutProps) {
  const { at, snapshot } = cursor;
  const { left } = placeOf(cursor);
  const sides = [at.x > 0.5 ? 'is-left' : 'is-right', at.y < 0.5 ? 'is-above' : 'is-below'];
  return (
    <Crosshair cursor={cursor} baseUsd={baseUsd}>
      <div
        class={`heatmap-readout ${sides.join(' ')}`}
        style={{ '--left': left, '--top': `${100 * (1 - at.y)}cqh` }}
      >
        {snapshot === null ? (
          <p>No data at this time</p>
        ) : (
          <Amounts {...{ cursor, split, baseUsd }} />
        )}
        {children}
      </div>
    </Crosshair>
  );
}

/** The cursor's lines, with its time and price on the axes. */
export function Crosshair({
  cursor,
  baseUsd = null,
  children,
}: {
  cursor: Cursor;
  baseUsd?: number | null;
  children?: ComponentChildren;
}) {
  const { priceUsd } = cursor;
  const { left, top } = placeOf(cursor);
  const labelTop = `${100 * (1 - cursor.labelY)}%`;
  return (
    <div class="heatmap-cursor" aria-hidden="true">
      <div class="heatmap-line-time" style={{ left }} />
      <div class="heatmap-line-price" style={{ top }} />
      <span class="heatmap-tag heatmap-tag-time" style={{ left: `clamp(4rem, ${left}, 100%)` }}>
        {timeText(cursor.shownT)}
      </span>
      <span class="heatmap-tag heatmap-tag-price" style={{ top: labelTop }}>
        {baseUsd === null ? priceText(priceUsd) : axisDistance(priceUsd, baseUsd)}
      </span>
      {children}
    </div>
  );
}

function placeOf({ at }: Cursor): { left: string; top: string } {
  return { left: `${100 * at.x}%`, top: `${100 * (1 - at.y)}%` };
}

function Amounts({ cursor, split, baseUsd }: Omit<ReadoutProps, 'children'>) {
  const { snapshot, bin, supportUsd, resistanceUsd } = cursor;
  if (snapshot === null) return null;
  return (
    <>
      <p class="heatmap-readout-head">
        <b>{priceText(cursor.priceUsd)}</b>
        {/* As the axis states it, so that the cursor has one distance. */}
        <span>
          {baseUsd === null
            ? distanceText(bin)
            : `${axisDistance(cursor.priceUsd, baseUsd)} from ${priceText(baseUsd)}`}
        </span>
      </p>
      <p class="heatmap-readout-soft">
        {timeText(snapshot.t)}, price {priceText(snapshot.priceUsd)}
      </p>
      <table>
        <tbody>
          <tr class="heatmap-readout-total">
            <th scope="row">{sideOf(cursor)}</th>
            <td class="heatmap-support">{supportUsd > 0 ? usd(supportUsd) : ''}</td>
            <td class="heatmap-resistance">{resistanceUsd > 0 ? usd(resistanceUsd) : ''}</td>
          </tr>
          {Array.isArray(split) &&
            split.map((share) => (
              <tr key={share.label}>
                <th scope="row">{share.label}</th>
                <td>{share.supportUsd > 0 ? usd(share.supportUsd) : ''}</td>
                <td>{share.resistanceUsd > 0 ? usd(share.resistanceUsd) : ''}</td>
              </tr>
            ))}
        </tbody>
      </table>
      {split === 'deferred' && (
        <p class="heatmap-readout-soft">
          The split has to wait: this key has few requests a minute
        </p>
      )}
      {split === 'failed' && (
        <p class="heatmap-readout-soft">The split is not available right now</p>
      )}
    </>
  );
}

function sideOf({ supportUsd, resistanceUsd }: Cursor): string {
  if (supportUsd > 0 && resistanceUsd > 0) return 'Support, resistance';
  if (supportUsd > 0) return 'Support';
  return resistanceUsd > 0 ? 'Resistance' : 'No depth';
}

export function distanceText(bin: number): string {
  const percent = 100 * (BIN_RATIO ** bin - 1);
  const text = Math.abs(percent).toFixed(Math.abs(percent) < 100 ? 1 : 0);
  return bin === 0 ? 'at the price' : `${percent < 0 ? '\u2212' : '+'}${text}%`;
}

/** The readout as one sentence, for screen readers. */
export function spokenText(
  { snapshot, bin, supportUsd, resistanceUsd, shownT, priceUsd }: Cursor,
  split: Split,
): string {
  if (snapshot === null) return `${timeText(shownT)}: no data`;
  const amounts = [
    supportUsd > 0 && `support ${usd(supportUsd)}`,
    resistanceUsd > 0 && `resistance ${usd(resistanceUsd)}`,
  ].filter(Boolean);
  const shares = Array.isArray(split)
    ? split.map((share) => `${share.label} ${usd(share.supportUsd + share.resistanceUsd)}`)
    : [];
  const what = amounts.length === 0 ? 'no depth' : amounts.join(', ');
  const list = shares.length === 0 ? '' : `: ${shares.join(', ')}`;
  return `${timeText(shownT)}, ${priceText(priceUsd)}, ${distanceText(bin)}: ${what}${list}`;
}
