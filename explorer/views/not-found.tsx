/** An address that names no view. */
import type { UnknownView } from '../state/url.js';
import { Places } from './places.js';

export function NotFound({ view }: { view: UnknownView }) {
  return (
    <section class="state failed" role="alert">
      <h1>There is no page at this address</h1>
      <p>
        <code>#{view.path}</code> is none of the explorer's pages. These are:
      </p>
      <Places />
    </section>
  );
}
