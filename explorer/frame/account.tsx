/** The key's limits, as the headers of replies state them, and its calls this month. */
import { absoluteTime, count, NONE, percent } from '../state/format.js';
import { forgetKey, key as keyValue, limits as limitsValue } from '../state/session.js';
import { useModule } from '../state/use-module.js';
import { useValue } from '../state/use-value.js';
import { Icon } from './icon.js';
import { Popover } from './popover.js';

export function Account() {
  const key = useValue(keyValue);
  const limits = useValue(limitsValue);
  if (key === null) return null;
  const { tier = NONE, rate = null, quota = null } = limits ?? {};
  const used = quota === null ? 0 : quota.used / quota.limit;
  const isLow = used > 0.9 || rate?.remaining === 0;
  const label = (
    <>
      <Icon name="key" />
      <span class="wide-only">{limits?.tier ?? 'Key'}</span>
      <span class={isLow ? 'meter low' : 'meter'} aria-hidden="true">
        <span style={{ width: `${Math.max(3, Math.min(1, used) * 100)}%` }} />
      </span>
      <span class="hidden">Key and limits</span>
    </>
  );
  return (
    <Popover label={label} name="Key and limits" class="account" title="Key and limits">
      <dl class="facts">
        <dt>Tier</dt>
        <dd>{tier}</dd>
        <dt>Requests left this minute</dt>
        <dd>{rate === null ? 'unlimited' : `${count(rate.remaining)} of ${count(rate.limit)}`}</dd>
        <dt>Used this month</dt>
        <dd>
          {quota === null
            ? 'unlimited'
            : `${count(quota.used)} of ${count(quota.limit)} (${percent(used, 2)})`}
        </dd>
        {quota !== null && (
          <>
            <dt>Resets on</dt>
            <dd>{absoluteTime(quota.resetsAtS).slice(0, 10)}</dd>
          </>
        )}
      </dl>
      <CallsOfMonth />
      <button type="button" class="plain" onClick={forgetKey}>
        Forget the key
      </button>
    </Popover>
  );
}

/** Loaded when the menu is opened. */
function CallsOfMonth() {
  const Usage = useModule(() => import('./usage.js'))?.Usage ?? null;
  return Usage && <Usage />;
}
