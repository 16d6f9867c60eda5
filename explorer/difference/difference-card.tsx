/** The difference between the moment that the page shows and a second one. */
import { useEffect, useState } from 'preact/hooks';
import { coverNote, coverTitle, type Ladder, type LadderFilter } from '../ladder/ladder.js';
import { Loading } from '../frame/states.js';
import { absoluteTime, price, signedPercent, signedUsd, usd } from '../state/format.js';
import { useNowS } from '../state/load.js';
import { REACH_S, TOO_OLD } from '../state/requests.js';
import { messageOf } from '../state/session.js';
import { EXPECTED_TIME, spokenTime } from '../state/spoken-time.js';
import { fieldTime, offsetS } from '../state/zone.js';
import { How } from '../views/how.js';
import { useMoment } from '../views/use-moment.js';
import { type Change, type Difference, differenceOf, shareOf, WITHIN_PCTS } from './difference.js';
import './difference.css';

interface DifferenceCardProps {
  address: string;
  filter: LadderFilter;
  /** Of the moment that the page shows; null if there is none. */
  ladder: Ladder | null;
  /** The second moment, epoch seconds; null: none. */
  vsS: number | null;
  onChoose: (t: number | null) => void;
}

export function DifferenceCard(props: DifferenceCardProps) {
  const { vsS, onChoose } = props;
  return (
    <section class="card difference-card" aria-labelledby="difference-title">
      <header>
        <h2 id="difference-title">Difference</h2>
        {vsS !== null && (
          <button type="button" class="tool" onClick={() => onChoose(null)}>
            Remove
          </button>
        )}
      </header>
      <SecondTime t={vsS} onChoose={onChoose} />
      {vsS !== null && <Compared {...props} vsS={vsS} />}
    </section>
  );
}

/** A field for the second moment. */
function SecondTime({ t, onChoose }: { t: number | null; onChoose: (t: number | null) => void }) {
  const nowS = useNowS();
  const shown = t === null ? '' : fieldTime(t);
  const [typed, setTyped] = useState(shown);
  const [fault, setFault] = useState<string | null>(null);
  useEffect(() => {
    setTyped(shown);
    setFault(null);
  }, [shown]);
  const enter = (text: string): void => {
    if (text === shown) return;
    const at = spokenTime(text, nowS, offsetS);
    if (text.trim() === '') onChoose(null);
    else if (at === null) setFault(EXPECTED_TIME);
    else if (at < nowS - REACH_S) setFault(TOO_OLD);
    else onChoose(Math.floor(at));
  };
  return (
    <>
      <label class="difference-time">
        <span class="note">Since</span>
        <input
          type="text"
          aria-label="Compared since"
          placeholder="yesterday 12:00"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={fault !== null}
          value={typed}
          onInput={({ currentTarget: { value } }) => {
            setTyped(value);
            setFault(null);
          }}
          onChange={({ currentTarget: { value } }) => enter(value)}
        />
      </label>
      <p class="note" role="status">
        {fault ??
          (t === null
            ? 'Type a second moment, or hold shift and click it on the map: what has changed since'
            : '')}
      </p>
    </>
  );
}

function Compared({ address, filter, ladder, vsS }: DifferenceCardProps & { vsS: number }) {
  const second = useMoment({ address, atS: vsS, filter });
  if (second.failure !== null) {
    return <p class="note">Nothing at that time: {messageOf(second.failure)}</p>;
  }
  if (second.scored !== null && second.t === null) {
    return <p class="note">There is no snapshot until {absoluteTime(vsS)}</p>;
  }
  // Until the second moment is known, the ladder is of the last one.
  if (!second.isKnown || second.ladder === null || ladder === null) {
    return <Loading what="the second moment" />;
  }
  if (second.ladder.t === ladder.t) {
    return <p class="note">Both moments show the snapshot of {absoluteTime(ladder.t)}</p>;
  }
  const difference = differenceOf(second.ladder, ladder);
  const { price: moved, within } = difference;
  return (
    <>
      <p class="note">
        From {absoluteTime(second.ladder.t)} to {absoluteTime(ladder.t)}, {ladder.perps}
      </p>
      <p class="difference-price">
        {price(moved.fromUsd)} → <b>{price(moved.toUsd)}</b> {signedPercent(shareOf(moved), 2)}
      </p>
      <Steps difference={difference} />
      <table class="small">
        <thead>
          <tr>
            <th scope="col">Within</th>
            <th scope="col" class="figure">
              Support
            </th>
            <th scope="col" class="figure">
              Resistance
            </th>
          </tr>
        </thead>
        <tbody>
          {within.map(({ pct, support, resistance }) => (
            <tr key={pct}>
              <th scope="row" title={coverTitle(pct)}>
                {pct}%
              </th>
              <ChangeCell change={support} />
              <ChangeCell change={resistance} />
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note" title={coverTitle(WITHIN_PCTS[0])}>
        Within {WITHIN_PCTS[0]}%, {coverNote(WITHIN_PCTS[0])}.
      </p>
      <How>{({ differenceSteps }) => differenceSteps(difference)}</How>
    </>
  );
}

function ChangeCell({ change }: { change: Change }) {
  return (
    <td title={`${usd(change.fromUsd)}, then ${usd(change.toUsd)}`}>
      {signedUsd(change.toUsd - change.fromUsd)}{' '}
      <span class="note">{signedPercent(shareOf(change))}</span>
    </td>
  );
}

const WIDTH = 320;
const HEIGHT = 96;
/** Labels of distances, by bin: 1.01^bin. */
const LABELLED = [-20, -10, 0, 10, 20];

/** A bar a 1% step and side: up for more, down for less. */
function Steps({ difference: { steps } }: { difference: Difference }) {
  const most = Math.max(
    1e-9,
    ...steps.flatMap(({ supportUsd, resistanceUsd }) => [
      Math.abs(supportUsd),
      Math.abs(resistanceUsd),
    ]),
  );
  const width = WIDTH / steps.length;
  const zero = HEIGHT / 2;
  const bar = (at: number, part: number, side: string, amount: number) => {
    const height = (Math.abs(amount) / most) * zero;
    return (
      <rect
        key={`${at} ${side}`}
        class={side}
        x={(at + part) * width}
        y={amount > 0 ? zero - height : zero}
        width={width * 0.45}
        height={height}
      />
    );
  };
  const first = steps[0].bin;
  const xOf = (pct: number): number =>
    (Math.log1p(pct / 100) / Math.log(1.01) - first + 0.5) * width;
  return (
    <figure class="difference-steps">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Change of each 1% step within 25% of the price, at most ${usd(most)}: support and resistance, up for more`}
      >
        <line x1="0" x2={WIDTH} y1={zero} y2={zero} />
        {steps.flatMap(({ supportUsd, resistanceUsd }, at) => [
          bar(at, 0.05, 'support', supportUsd),
          bar(at, 0.5, 'resistance', resistanceUsd),
        ])}
      </svg>
      <span class="difference-most note">±{usd(most)}</span>
      <figcaption class="note" aria-hidden="true">
        {LABELLED.map((pct) => (
          <span key={pct} style={{ left: `${(100 * xOf(pct)) / WIDTH}%` }}>
            {pct === 0 ? 'price' : signedPercent(pct / 100, 0)}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
