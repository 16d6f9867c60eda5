/** The view's API requests, and buttons that copy them as curl or share the view. */
import { type ApiRequest, curlText } from '../state/requests.js';
import { CopyButton } from './copy-button.js';
import { ExportMenu } from './export-menu.js';
import type { ViewData } from './export-panel.js';

interface RequestBarProps {
  /** Empty: not known yet. */
  requests: readonly ApiRequest[];
  /** What the view shows of their replies, if that is not obvious. */
  shows?: string;
  /** The address to share; default: the page's. */
  href?: string;
  data: ViewData;
}

export function RequestBar({ requests, shows, href, data }: RequestBarProps) {
  if (requests.length === 0) return null;
  const commands = requests.map((request) => curlText(location.origin, request));
  if (shows !== undefined) commands.unshift(`# ${shows}`);
  return (
    <section
      class="request"
      aria-label={requests.length === 1 ? 'Request of this view' : 'Requests of this view'}
    >
      <code tabIndex={0}>
        {commands.map((text) => (
          <span key={text}>{text.replaceAll(' \\\n', '').replaceAll(/ {2,}/g, ' ')}</span>
        ))}
      </code>
      <CopyButton text={() => commands.join('\n')} label="Copy curl" />
      <ExportMenu requests={requests} data={data} />
      <CopyButton text={() => href ?? location.href} label="Share" icon="share" />
    </section>
  );
}
