/** A view without data: loading, empty, failed. */
import type { FathomError } from '../../client/index.js';
import { isPassing, messageOf, tryAgain } from '../state/session.js';

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

export function Empty({ title, children }: { title: string; children?: string }) {
  return (
    <div class="state empty" role="status">
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

export function Failure({ error }: { error: FathomError }) {
  return (
    <div class="state failed" role="alert">
      <strong>{titleOf(error)}</strong>
      <p>{messageOf(error)}</p>
      {(isPassing(error) || error.status === 429) && (
        <button type="button" onClick={tryAgain}>
          Try again
        </button>
      )}
    </div>
  );
}

function titleOf({ status, code }: FathomError): string {
  if (status === null) return 'The server does not answer';
  if (status === 400) return 'This address asks for something that is not there';
  if (status === 403) return 'This key may not see this';
  if (status === 404) return 'Nothing is known of this';
  if (status === 429) return 'The limit of this key is reached';
  if (status === 503) return code === 'replay_busy' ? 'The server is busy' : 'Not available now';
  return 'This did not work';
}
