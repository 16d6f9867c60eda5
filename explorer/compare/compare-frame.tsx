/** The page Compare around its chart: choices, tokens, and what stands in place of a chart. */
import type { ComponentChildren } from 'preact';
import type { FathomError } from '../../client/index.js';
import { Empty, Failure, Loading } from '../frame/states.js';
import { shortAddress } from '../state/format.js';
import { show } from '../state/session.js';
import { type CompareView, hashOf } from '../state/url.js';
import { TokenLinks } from '../views/token-links.js';
import { CompareChoices } from './choices.js';
import { ComparedTokens } from './compared-tokens.js';
import type { OfTokens } from './of-tokens.js';

interface CompareFrameProps {
  view: CompareView;
  labelOf: (address: string) => string;
  refused: OfTokens<unknown>['refused'];
  error: FathomError | null;
  /** False: not loaded yet. */
  chart: ComponentChildren;
  /** Below the chart. */
  children: ComponentChildren;
}

export function CompareFrame(props: CompareFrameProps) {
  const { view, labelOf, refused, error, chart, children } = props;
  const { tokens } = view;
  const change = (part: Partial<CompareView>): void => show({ ...view, ...part });
  return (
    <article class="board compare" aria-labelledby="compare-title">
      <header class="board-head">
        <h1 id="compare-title">Compare</h1>
        <p class="note">Tokens, or the venues or types of one, side by side.</p>
      </header>
      <CompareChoices view={view} onChange={change} />
      <ComparedTokens tokens={tokens} labelOf={labelOf} onChange={change} />
      {refused.length > 0 && (
        <p class="note" role="status">
          {refused.map(({ address, why }) => (
            <span key={address}>
              <code title={address}>{shortAddress(address)}</code> is left out: {why}.{' '}
            </span>
          ))}
          Remove {refused.length === 1 ? 'it' : 'them'}, or add a token by its symbol or name.
        </p>
      )}
      <section class="card compare-card" aria-label="Chart">
        {refused.length === tokens.length ? (
          <Empty
            title={
              tokens.length === 0 ? 'Nothing to compare yet' : 'None of these is a known token'
            }
            below={
              <TokenLinks
                title="Begin with one of these:"
                hrefOf={(one) => hashOf({ ...view, tokens: [one] })}
              />
            }
          >
            Add a token or two.
          </Empty>
        ) : chart !== false ? (
          chart
        ) : error !== null ? (
          <Failure error={error} />
        ) : (
          <Loading what="the series" />
        )}
      </section>
      {children}
    </article>
  );
}
