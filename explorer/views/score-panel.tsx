/** A token's score and its components. */
import type { Score } from '../../client/index.js';
import { SCORED_TEXT } from '../ladder/ladder.js';
import { usd } from '../state/format.js';
import { How } from './how.js';
import { Meter } from './sparkline.js';

/** Most points for depth and for balance: docs/definitions.md#score. */
const MAX_POINTS = { depth: 80, balance: 20 } as const;

export function ScorePanel({ score }: { score: Score }) {
  const { service_score: value, score_msg: message, stale } = score;
  const explain = score.explain ?? null;
  return (
    <section class="card score-card" aria-labelledby="score-title">
      <header>
        <h2 id="score-title">Score</h2>
        <span class="note">{SCORED_TEXT}</span>
        {stale === true && <span class="chip warn">stale</span>}
      </header>
      {value === null ? (
        <p class="note">{message ?? `No score: ${score.status}`}</p>
      ) : (
        <>
          <div class="score-value">
            <b>{value.toFixed(1)}</b>
            <span class="note">of 100</span>
          </div>
          <p class="message">{message}</p>
        </>
      )}
      {explain !== null && (
        <table class="small">
          <caption class="hidden">What the score is made of</caption>
          <tbody>
            {(['depth', 'balance'] as const).map((part) => (
              <tr key={part}>
                <th scope="row">{part === 'depth' ? 'Depth' : 'Balance'}</th>
                <td class="wide">
                  <Meter share={explain.components[part].points / MAX_POINTS[part]} />
                </td>
                <td>
                  {explain.components[part].points.toFixed(1)}
                  <span class="note"> / {MAX_POINTS[part]}</span>
                </td>
              </tr>
            ))}
            <tr>
              <th scope="row">Weighted support</th>
              <td class="wide">
                <Meter share={explain.support / (explain.depth || 1)} tone="support" />
              </td>
              <td>{usd(explain.support)}</td>
            </tr>
            <tr>
              <th scope="row">Weighted resistance</th>
              <td class="wide">
                <Meter share={explain.resistance / (explain.depth || 1)} tone="resistance" />
              </td>
              <td>{usd(explain.resistance)}</td>
            </tr>
          </tbody>
        </table>
      )}
      {explain !== null && value !== null && (
        <How>{({ scoreSteps }) => scoreSteps(explain, value)}</How>
      )}
    </section>
  );
}
