/** What the view asks, to be repeated elsewhere; and its address, to be shared. */
import { type ApiRequest, curlText } from '../state/requests.js';
import { CopyButton } from './copy-button.js';

export function RequestBar({ request }: { request: ApiRequest }) {
  const text = curlText(location.origin, request);
  return (
    <section class="request" aria-label="Request of this view">
      <code tabIndex={0}>{text.replaceAll(' \\\n', '').replaceAll(/ {2,}/g, ' ')}</code>
      <CopyButton text={() => text} label="Copy curl" />
      <CopyButton text={() => location.href} label="Share" icon="share" />
    </section>
  );
}
