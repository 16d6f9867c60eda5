/** An address that names no view. */
import {
  BOARD_TITLES,
  boardView,
  BOARDS,
  compareView,
  DEFAULT_VIEW,
  hashOf,
  type UnknownView,
} from '../state/url.js';

export function NotFound({ view }: { view: UnknownView }) {
  return (
    <section class="state failed" role="alert">
      <strong>There is no page at this address</strong>
      <p>
        <code>#{view.path}</code> is none of the explorer's pages. These are:
      </p>
      <ul class="places">
        <li>
          <a href={hashOf(DEFAULT_VIEW)}>Depth of a token</a>
        </li>
        {BOARDS.map((name) => (
          <li key={name}>
            <a href={hashOf(boardView(name))}>{BOARD_TITLES[name]}</a>
          </li>
        ))}
        <li>
          <a href={hashOf(compareView([]))}>Compare</a>
        </li>
      </ul>
    </section>
  );
}
