/** Rows of the command palette. */
import { expect, it } from 'vitest';
import { ACTION, BUTTON, distinct } from '../../explorer/frame/command.js';

it('the palette lists an action with a button once, and every token of a name', () => {
  const act = (): void => undefined;
  const commands = distinct([
    { label: 'Pause', note: ACTION, act },
    { label: 'Pause', note: BUTTON, act },
    { label: 'Orca', note: 'venue: show', act },
    { label: 'Orca', note: 'venue: show', act },
    { address: 'first', label: 'WIF', note: 'dogwifhat', act },
    { address: 'second', label: 'WIF', note: 'dogwifhat', act },
    { address: 'second', label: 'WIF', note: 'dogwifhat  $2', act },
  ]);
  expect(commands.map(({ address, label, note }) => address ?? `${label} ${note}`)).toEqual([
    'Pause action',
    'Orca venue: show',
    'first',
    'second',
  ]);
});
