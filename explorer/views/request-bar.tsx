/** What the view asks, to be repeated elsewhere; and its address, to be shared. */
import { type ApiRequest, curlText } from '../state/requests.js';
import { CopyButton } from './copy-button.js';

interface RequestBarProps {
  request: ApiRequest;
  /** What is shared, where it is not the page's address. */
  href?: string;
}

export function RequestBar({ request, href }: RequestBarProps) {
  const text = curlText(location.origin, request);
  return (
    <section class="request" aria-label="Request of this view">
      <code tabIndex={0}>{text.replaceAll(' \\\n', '').replaceAll(/ {2,}/g, ' ')}</code>
      <CopyButton text={() => text} label="Copy curl" />
      <CopyButton text={() => href ?? location.href} label="Share" icon="share" />
    </section>
  );
}
