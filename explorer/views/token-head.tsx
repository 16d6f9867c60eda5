/** A token's symbol, price and state, and the time of its data. */
import type { Score } from '../../client/index.js';
import type { Ladder } from '../ladder/ladder.js';
import { absoluteTime, age, price, shortAddress } from '../state/format.js';
import { useModule } from '../state/use-module.js';
import { CopyButton } from './copy-button.js';
import { Star } from './star.js';

/** Not needed before the map. */
const loadMarks = async () => (await import('./token-marks.js')).TokenMarks;

export function TokenHead(props: {
  address: string;
  /** Names the token. */
  identity: Score | null;
  /** Of the moment shown; null if there is none. */
  score: Score | null;
  nowS: number;
  /** Whether the newest snapshot is older than usual. */
  isOld: boolean;
  /** The snapshot of another moment; null if the newest one is shown. */
  shown: Ladder | null;
  /** Whether playback runs. */
  isMoving?: boolean;
}) {
  const { address, identity, score, nowS, isOld, shown, isMoving = false } = props;
  const Marks = useModule(loadMarks);
  const priceUsd = shown?.priceUsd ?? score?.service_current_price;
  const dataTime = shown?.t ?? score?.data_time ?? null;
  return (
    <header class="token-head">
      <h1>
        {identity?.symbol ?? shortAddress(address)}
        <span class="name">{identity?.name ?? ''}</span>
      </h1>
      <b class="price">{price(priceUsd)}</b>
      {Marks !== null && (
        <Marks
          {...{ address, identity }}
          shown={
            !isMoving && typeof priceUsd === 'number' && dataTime !== null
              ? { t: dataTime, priceUsd }
              : null
          }
        />
      )}
      {score !== null && score.status !== 'available' && (
        <span class="chip">{score.status.replaceAll('_', ' ')}</span>
      )}
      {score?.stale === true && <span class="chip warn">stale</span>}
      <span class="address">
        {/* Without a symbol, the address is the title. */}
        {typeof identity?.symbol === 'string' && (
          <code title={address}>{shortAddress(address)}</code>
        )}
        <CopyButton text={() => address} label="Copy the address" iconOnly={true} />
        <Star address={address} name={identity?.symbol ?? shortAddress(address)} />
      </span>
      {dataTime !== null && (
        <time
          class={isOld && shown === null ? 'note old' : 'note'}
          dateTime={new Date(dataTime * 1000).toISOString()}
          title={absoluteTime(dataTime)}
        >
          {shown === null ? `${age(nowS - dataTime)} old` : absoluteTime(dataTime)}
        </time>
      )}
    </header>
  );
}
