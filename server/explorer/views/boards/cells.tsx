/** Cells that several boards have. */
import { shortAddress, signedUsd } from '../../state/format.js';
import { hashOf, tokenView } from '../../state/url.js';

interface Named {
  address: string;
  symbol?: string | null;
  name?: string | null;
}

/** The token as a link to its depth. */
export function TokenLink({ address, symbol, name }: Named) {
  return (
    <a class="token-link" href={hashOf(tokenView(address))} title={address}>
      <b>{symbol ?? shortAddress(address)}</b>
      {typeof name === 'string' && <span class="name">{name}</span>}
    </a>
  );
}

export const rank = {
  name: 'rank',
  label: '#',
  kind: 'figure',
  show: (_: unknown, at: number) => at,
} as const;

/** An amount with its sign in its colour. */
export function Flow({ value }: { value: number }) {
  return <span class={value < 0 ? 'down' : value > 0 ? 'up' : ''}>{signedUsd(value)}</span>;
}
