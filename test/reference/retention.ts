/** What retention keeps of a token's snapshots, found by looking at every one (docs/operating.md#retention). */
import type { Tier } from '../../compute/market.js';

interface Kept {
  tier: Tier;
  t: number;
}

const LENGTHS: [Tier, number][] = [
  ['15m', 900],
  ['1h', 3600],
];
const DAY = 86_400;

/** The earliest time that a tier keeps. */
function firstKept(retention: Partial<Record<Tier, number>>, tier: Tier, now: number): number {
  const kept = retention[tier];
  if (kept === undefined) return 0;
  const unit = kept < DAY ? 60 : kept < 7 * DAY ? 3600 : DAY;
  let t = Math.max(0, now - kept);
  while (t % unit !== 0) t--;
  return t;
}

export function retained<S extends Kept>(
  snapshots: readonly S[],
  retention: Partial<Record<Tier, number>>,
  now: number,
): S[] {
  const raw = snapshots.filter(({ tier }) => tier === 'raw');
  const longer = LENGTHS.filter(
    ([tier]) => retention.raw !== undefined && (retention[tier] ?? Infinity) > retention.raw,
  );
  // The raw snapshots stay until the time of their coarse snapshot has come.
  const ended = (t: number): boolean =>
    longer.every(([, length]) => Math.ceil(t / length) * length <= now);
  const stays = ({ tier, t }: Kept): boolean =>
    t >= firstKept(retention, tier, now) || (tier === 'raw' && !ended(t));
  const made: S[] = [];
  for (const gone of raw.filter((one) => !stays(one))) {
    for (const [tier, length] of longer) {
      const t = gone.t % length === 0 ? gone.t : gone.t - (gone.t % length) + length;
      const newest = raw
        .filter((other) => other.t > t - length && other.t <= t)
        .reduce((a, b) => (b.t > a.t ? b : a));
      const stands = snapshots.some((other) => other.tier === tier && other.t === t);
      if (newest === gone && !stands && stays({ tier, t })) made.push({ ...gone, tier, t });
    }
  }
  return [...snapshots.filter(stays), ...made];
}
