/** Links to all views, for a page that leads nowhere. */
import {
  BOARD_TITLES,
  boardView,
  BOARDS,
  compareView,
  DEFAULT_VIEW,
  hashOf,
} from '../state/url.js';

export function Places() {
  return (
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
  );
}
