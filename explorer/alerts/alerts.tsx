/** The button of the alerts, what fired just now, and the dialog with all of them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { absoluteTime, age, shortAddress } from '../state/format.js';
import { key as keyValue } from '../state/session.js';
import { hashOf, tokenView } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { AlertForm } from './alert-form.js';
import './alerts.css';
import { askPermission, beep, canSound, permission } from './announce.js';
import { forgetAlerts, isUnkept, kept, restoreAlerts, update } from './kept.js';
import {
  type Fired,
  type Kept,
  MAX_FIRED,
  MAX_RULES,
  MAX_TOKENS,
  markedRead,
} from './kept-text.js';
import { conditionText, rearmText, type Rule, UNSEEN } from './rules.js';
import { isWatching, readings, startWatching, watched } from './watch.js';

/** Most alerts that the page shows until they are read; the list has all. */
const MAX_TOASTS = 3;

restoreAlerts();
startWatching();

export function Alerts() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const { rules, fired } = useValue(kept);
  const unread = fired.filter(({ isRead }) => !isRead);
  const isWatched = useValue(isWatching);
  const open = (): void => {
    setOpen(true);
    dialog.current?.showModal();
  };
  return (
    <>
      <button
        type="button"
        class="tool icon-only alerts-button"
        aria-label="Alerts"
        title={bellTitle(rules.length, isWatched, unread.length)}
        onClick={open}
      >
        <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
          <path d="M3.500 11.500h9l-1.200-1.700V7a3.300 3.300 0 0 0-6.600 0v2.800zM6.800 13.500h2.400" />
        </svg>
        {unread.length > 0 && (
          <span class="alerts-count" aria-hidden="true">
            {unread.length}
          </span>
        )}
      </button>
      <div class="alerts-toasts" role="status">
        {unread.slice(0, MAX_TOASTS).map((one) => (
          <Toast key={one.id} fired={one} />
        ))}
      </div>
      <dialog
        ref={dialog}
        class="shortcuts alerts"
        aria-labelledby="alerts-title"
        onClose={() => setOpen(false)}
        onPointerDown={(event) => {
          if (event.target === event.currentTarget) dialog.current?.close();
        }}
      >
        {isOpen && <Panel onClose={() => dialog.current?.close()} />}
      </dialog>
    </>
  );
}

function bellTitle(rules: number, isWatched: boolean, unread: number): string {
  const set =
    rules === 0
      ? 'be told when depth, the score or a wall changes'
      : `${rules} set, ${isWatched ? '' : 'not '}watched by this tab`;
  return `Alerts: ${set}${unread === 0 ? '' : `; ${unread} fired since you looked`}`;
}

function Toast({ fired }: { fired: Fired }) {
  const dismiss = (): void => update((now) => markedRead(now, fired.id));
  return (
    <p class="alerts-toast">
      <span>
        <TokenLink {...fired} /> {fired.text}{' '}
        <span class="note">at {absoluteTime(fired.dataT)}</span>
      </span>
      <button type="button" class="tool" onClick={dismiss}>
        Dismiss
      </button>
    </p>
  );
}

function TokenLink({ address, symbol }: Pick<Fired, 'address' | 'symbol'>) {
  return (
    <a href={hashOf(tokenView(address))} title={address}>
      {symbol ?? shortAddress(address)}
    </a>
  );
}

function Panel({ onClose }: { onClose: () => void }) {
  const all = useValue(kept);
  const { rules, fired } = all;
  useEffect(() => {
    if (fired.some(({ isRead }) => !isRead)) update((now) => markedRead(now));
  }, [fired]);
  return (
    <>
      <header class="alerts-head">
        <h2 id="alerts-title">Alerts</h2>
        <button type="button" class="tool" onClick={onClose}>
          Close
        </button>
      </header>
      <AlertForm />
      <section aria-label="What is watched">
        <h3>Watched</h3>
        {rules.length === 0 ? (
          <p class="note">No alerts yet.</p>
        ) : (
          <ul class="alerts-list">
            {rules.map((rule) => (
              <RuleRow key={rule.id} rule={rule} />
            ))}
          </ul>
        )}
        <WatchNote rules={rules} />
      </section>
      <Channels {...all} />
      <section aria-label="What fired">
        <h3>
          Fired
          {fired.length > 0 && (
            <button
              type="button"
              class="plain"
              onClick={() => update((now) => ({ ...now, fired: [] }))}
            >
              Clear the list
            </button>
          )}
        </h3>
        {fired.length === 0 ? (
          <p class="note">Nothing yet.</p>
        ) : (
          <ul class="alerts-list alerts-fired">
            {fired.map((one) => (
              <FiredRow key={one.id} fired={one} />
            ))}
          </ul>
        )}
      </section>
      <p class="note">
        This browser keeps the alerts: at most {MAX_RULES}, about {MAX_TOKENS} tokens, and the last{' '}
        {MAX_FIRED} that fired. No server knows them, so they work only while a tab of this page is
        open. A watched token costs two requests at the start, and one an hour; an alert about a
        score, one more each time the score is read.
      </p>
      {(rules.length > 0 || fired.length > 0) && (
        <button type="button" class="plain" onClick={forgetAlerts}>
          Delete all alerts and the list
        </button>
      )}
    </>
  );
}

function RuleRow({ rule }: { rule: Rule }) {
  const { seen } = useValue(kept);
  const reading = useValue(readings)[rule.id];
  const trouble = useValue(watched)[rule.address]?.trouble ?? null;
  const { isOn } = seen[rule.id] ?? UNSEEN;
  const text = conditionText(rule);
  const remove = (): void =>
    update((now) => ({ ...now, rules: now.rules.filter(({ id }) => id !== rule.id) }));
  return (
    <li data-on={isOn === true}>
      <span>
        <TokenLink {...rule} /> <b>{text}</b>
        <span class="note">
          {reading === undefined ? 'not read yet' : `${reading.text} at ${absoluteTime(reading.t)}`}
          {isOn === true && ' (holds now)'}
          {(isOn === true || rule.kind === 'wall') && `; ${rearmText(rule)}`}
          {trouble !== null && `; not followed at the moment: ${trouble}`}
        </span>
      </span>
      <button
        type="button"
        class="tool"
        aria-label={`Delete ${rule.symbol ?? shortAddress(rule.address)} ${text}`}
        onClick={remove}
      >
        Delete
      </button>
    </li>
  );
}

function FiredRow({ fired }: { fired: Fired }) {
  const lateS = fired.seenT - fired.dataT;
  return (
    <li>
      <span>
        <TokenLink {...fired} /> <b>{fired.text}</b>
        <span class="note">
          data of {absoluteTime(fired.dataT)}; seen at {absoluteTime(fired.seenT)} by this
          computer's clock{lateS > 0 && `, ${age(lateS)} later`}
        </span>
      </span>
    </li>
  );
}

function WatchNote({ rules }: { rules: readonly Rule[] }) {
  const isWatched = useValue(isWatching);
  const hasKey = useValue(keyValue) !== null;
  const isLost = useValue(isUnkept);
  if (rules.length === 0) return null;
  return (
    <p class="note" role="status">
      {isWatched
        ? 'This tab watches, also while it is hidden. '
        : hasKey
          ? 'This tab does not watch: another tab of this browser does, or the page is paused. '
          : 'Nothing is watched without a key. '}
      {isLost && 'This browser keeps nothing: the alerts end with this tab.'}
    </p>
  );
}

/** How the page says that an alert fired, besides in the page itself. */
function Channels({ hasSound, hasNotification }: Kept) {
  const [allowed, setAllowed] = useState(permission());
  useEffect(() => setAllowed(permission()), []);
  const chooseNotification = async (isWanted: boolean): Promise<void> => {
    const given = isWanted ? await askPermission() : permission();
    setAllowed(given);
    update((now) => ({ ...now, hasNotification: isWanted && given === 'granted' }));
  };
  return (
    <section aria-label="How they are announced">
      <h3>Announced by</h3>
      <label class="check">
        <input
          type="checkbox"
          checked={hasSound}
          onChange={({ currentTarget: { checked } }) => {
            update((now) => ({ ...now, hasSound: checked }));
            if (checked) beep();
          }}
        />
        A sound{hasSound && !canSound() && ' (browsers play none before the first click on a page)'}
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={hasNotification && allowed === 'granted'}
          disabled={allowed === 'missing'}
          onChange={({ currentTarget: { checked } }) => void chooseNotification(checked)}
        />
        A system notification
      </label>
      {allowed === 'missing' && (
        <p class="note">
          Browsers show notifications only for pages over https or of this machine.
        </p>
      )}
      {allowed === 'denied' && (
        <p class="note">
          This browser refuses notifications of this page: its settings allow them.
        </p>
      )}
    </section>
  );
}
