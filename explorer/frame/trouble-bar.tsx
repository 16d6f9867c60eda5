/**
 * A bar that states why the page waits: a limit, a busy server, no network. The page resumes on its own, except if the
 * server has another version of it.
 */
import { useEffect, useState } from 'preact/hooks';
import { trouble as troubleValue, tryAgain, type Trouble } from '../state/session.js';
import { isOutdated } from '../state/version.js';
import { useValue } from '../state/use-value.js';

const WORDS = {
  limited: 'This key has reached its rate limit.',
  busy: 'The server is busy.',
  connection: 'The server does not answer.',
} as const;

export function TroubleBar() {
  const trouble = useValue(troubleValue);
  const isOld = useValue(isOutdated);
  const isShown = trouble !== null && !trouble.kind.startsWith('key-');
  return (
    <div role="status" aria-live="polite">
      {isOld && (
        <p class="trouble">
          <strong>The server has a newer version of this page.</strong> This one cannot load all of
          its parts any more.
          <button type="button" class="plain" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      )}
      {isShown && <Words trouble={trouble} />}
    </div>
  );
}

function Words({ trouble }: { trouble: Trouble }) {
  if (trouble.kind === 'offline') {
    return (
      <p class="trouble offline">
        <strong>You are offline.</strong> The page shows what it has, and resumes when the
        connection is back.
      </p>
    );
  }
  if (!('untilMs' in trouble)) return null;
  return (
    <p class={`trouble ${trouble.kind}`}>
      <strong>{WORDS[trouble.kind]}</strong> Trying again in <Countdown untilMs={trouble.untilMs} />
      {trouble.kind === 'connection' && (
        <button type="button" class="plain" onClick={tryAgain}>
          Try now
        </button>
      )}
    </p>
  );
}

/** Counts down; screen readers announce it once, not every second. */
function Countdown({ untilMs }: { untilMs: number }) {
  const [nowMs, setNowMs] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(performance.now()), 250);
    return () => clearInterval(timer);
  }, []);
  const leftS = Math.max(0, Math.ceil((untilMs - nowMs) / 1000));
  const text = leftS < 100 ? `${leftS} s` : `${Math.floor(leftS / 60)} min ${leftS % 60} s`;
  return (
    <span class="countdown" aria-live="off">
      {text}
    </span>
  );
}
