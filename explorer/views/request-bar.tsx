/** The view's API request, and buttons that copy it as curl or share the view. */
import { type ApiRequest, curlText } from '../state/requests.js';
import { CopyButton } from './copy-button.js';
import { ExportMenu, type ViewData } from './export-menu.js';

interface RequestBarProps {
  request: ApiRequest;
  /** The address to share; default: the page's. */
  href?: string;
  data: ViewData;
}

export function RequestBar({ request, href, data }: RequestBarProps) {
  const text = curlText(location.origin, request);
  return (
    <section class="request" aria-label="Request of this view">
      <code tabIndex={0}>{text.replaceAll(' \\\n', '').replaceAll(/ {2,}/g, ' ')}</code>
      <CopyButton text={() => text} label="Copy curl" />
      <ExportMenu request={request} data={data} />
      <CopyButton text={() => href ?? location.href} label="Share" icon="share" />
    </section>
  );
}
