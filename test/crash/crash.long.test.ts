/** The short form of `npm run test:crash`. */
import { expect, it } from 'vitest';
import { runKills } from './run.js';

it('Kills at random moments, also among rivals, lose nothing that was acknowledged', async () => {
  const lines: string[] = [];
  const outcome = await runKills({ kills: 12, seed: 8, minutes: 5 }, (line) => lines.push(line));
  expect([lines.join('\n'), outcome.violation]).toEqual([
    expect.stringMatching(
      /\d+ kills, \d+ files acknowledged, 0 lost, 0 partial, 0 refused, 0 unlocked$/,
    ),
    null,
  ]);
  expect(lines.join('\n')).toMatch(/rounds: [1-9]/);
  expect(outcome.kills).toBeGreaterThanOrEqual(12);
});
