/** A view without data: loading, empty, failed. */
import type { ComponentChildren } from 'preact';
import type { FathomError } from '../../client/index.js';
import { isTransient, messageOf, tryAgain } from '../state/session.js';

export function Loading({ what }: { what: string }) {
  return (
    <div class="state loading" role="status">
      <span class="pulse" aria-hidden="true">
        <i />
        <i />
        <i />
        <i />
        <i />
      </span>
      <span>Loading {what}</span>
    </div>
  );
}

/** For a part of the page whose code did not arrive. */
export function Missing() {
  return (
    <div class="state failed" role="alert">
      <strong>This part of the page could not be loaded</strong>
      <p>The server does not answer, or this browser is offline. The page keeps trying.</p>
      <button type="button" onClick={tryAgain}>
        Try again
      </button>
    </div>
  );
}

interface EmptyProps {
  title: string;
  children?: string;
  /** Shown below the text. */
  below?: ComponentChildren;
}

export function Empty({ title, children, below }: EmptyProps) {
  return (
    <div class="state empty" role="status">
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
      {below}
    </div>
  );
}

export function Failure({ error, children }: { error: FathomError; children?: ComponentChildren }) {
  return (
    <div class="state failed" role="alert">
      <strong>{titleOf(error)}</strong>
      <p>{messageOf(error)}</p>
      {(error.status === 400 || error.status === 404) && (
        <p>
          Press / to find a token, or go to the <a href="#/">one with the best score</a>.
        </p>
      )}
      {children}
      {(isTransient(error) || error.status === 429) && (
        <button type="button" onClick={tryAgain}>
          Try again
        </button>
      )}
    </div>
  );
}

function titleOf({ status, code }: FathomError): string {
  if (status === null) return 'The server does not answer';
  if (status === 400) return 'The server does not understand this address';
  if (status === 403) return 'This key has no access to this';
  if (status === 404) return 'The server has no data about this';
  if (status === 429) return 'This key has reached its limit';
  if (status === 503)
    return code === 'replay_busy' ? 'The server is busy' : 'Not available right now';
  return 'Something went wrong';
}
