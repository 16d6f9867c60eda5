/** Scores at earlier times, many at once: what GET /score/:address?at= returns for each. */
import { ladderOfSums, type SnapshotSums, widthOfSums } from '../../compute/depth/depth-series.js';
import type { RunTask } from '../../compute/pool.js';
import { isScored } from '../../compute/scores/score.js';
import { marketMask } from '../../compute/segment/snapshots.js';
import { Turns } from '../../storage/turns.js';
import { readSums, type SumsClient } from '../depth/snapshot-sums.js';
import type { Services } from '../services.js';
import { oldestServedS } from '../replay/parameters.js';
import { type ScorableLeg, scoreOfLegs } from '../tokens/standing.js';

/**
 * The token's score at each time, null if it had none; null if the client has disconnected.
 * @param stepS the least distance between two times: ladders are kept by step
 * @throws SegmentGoneError; Error if a segment is damaged
 */
export async function scoresAt(
  services: Services,
  address: string,
  times: readonly number[],
  stepS: number,
  run: RunTask,
  client?: SumsClient,
): Promise<(number | null)[] | null> {
  const { tokens, clock } = services;
  const oldestS = oldestServedS(clock.nowS());
  const scored = tokens.scored(address);
  if (scored === null) return times.map(() => null);
  const legs: ScorableLeg[][] = times.map(() => []);
  for (const { details } of scored.legs) {
    if (details.coverage !== 'full') continue;
    const { refs, markets } = await tokens.newestAt(details.tokenId, times);
    const snapshots = refs.flatMap((ref, i) =>
      ref === null || ref.t < oldestS ? [] : { ...ref, point: Math.floor(times[i] / stepS), i },
    );
    const of: SnapshotSums = { kind: 'score', mask: marketMask(markets, isScored) };
    const key = JSON.stringify(['score', details.tokenId, stepS, markets.length]);
    const numbers = await readSums(services, { key, stepS, sums: of }, snapshots, run, client);
    if (numbers === null) return null;
    const width = widthOfSums(of);
    for (const own of legs) own.push({ details, newest: null });
    snapshots.forEach(({ i, ...ref }, n) => {
      const [ladder, priceUsd] = [ladderOfSums(numbers, n * width), numbers[n * width]];
      legs[i][legs[i].length - 1] = { details, newest: { ref, priceUsd, ladder } };
    });
  }
  const turns = new Turns();
  const scores: (number | null)[] = [];
  for (const own of legs) {
    scores.push(scoreOfLegs(scored.token.details, own));
    await turns.take();
  }
  return scores;
}
