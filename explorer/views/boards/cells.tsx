/** Columns and cells that several boards share. */
import { NONE, percent, shortAddress, signedUsd, usd } from '../../state/format.js';
import { hashOf, tokenView } from '../../state/url.js';
import { Meter } from '../sparkline.js';
import type { Column } from '../table.js';
import type { BoardToken } from './spec.js';

/** The token as a link to its depth. */
export function TokenLink({ address, symbol, name }: BoardToken) {
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

/** A row's address. */
export const address = {
  name: 'address',
  label: 'Address',
  show: (row: { address: string }) => <code title={row.address}>{shortAddress(row.address)}</code>,
} as const;

/** A column of USD. */
export function amount<Row>(
  name: string,
  label: string,
  of: (row: Row) => number | null,
  about?: string,
): Column<Row> {
  return { name, label, about, kind: 'figure', by: of, show: (row) => usd(of(row)) };
}

/** A share as a bar and a number. @param share 1 is 100%; null: unknown */
export function ShareFigure({ share }: { share: number | null }) {
  if (share === null) return NONE;
  return (
    <span class="share-figure">
      <Meter share={share} />
      <span>{percent(share)}</span>
    </span>
  );
}

/** A signed amount, coloured by its sign. */
export function Flow({ value }: { value: number }) {
  return <span class={value < 0 ? 'down' : value > 0 ? 'up' : ''}>{signedUsd(value)}</span>;
}
