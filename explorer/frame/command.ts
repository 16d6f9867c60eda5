/** A row of the command palette. */

export interface Command {
  /** Of a token: several can have the same name. */
  address?: string;
  label: string;
  /** Its kind, or more about it. */
  note: string;
  act: () => void;
}

/** Notes of commands that the label alone tells apart. */
export const BUTTON = 'button';
export const ACTION = 'action';

/** What tells a command from the others. */
export function nameOf({ address, label, note }: Command): string {
  if (address !== undefined) return address;
  return note === BUTTON || note === ACTION ? label : `${label} ${note}`;
}

/** Without a second command of the same name: some actions have a button, too. */
export function distinct(commands: readonly Command[]): Command[] {
  const names = new Set<string>();
  return commands.filter((one) => names.size < names.add(nameOf(one)).size);
}
