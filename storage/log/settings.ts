/** The settings of a cluster: they are in its log, and every node's store has them as of its position. */
import type { Statements } from '../duckdb/statements.js';
import { type Meta, writeMeta } from '../meta.js';

/** JSON values by the setting's name. */
export type Settings = Readonly<Record<string, unknown>>;

/** What a change of settings did. */
export interface SettingsChange {
  /** The position of its entry; null if every setting had its value already. */
  position: number | null;
  /** The settings before it. */
  before: Settings;
}

const META_KEY = 'log_settings';

/** The settings of the log that a store follows; none if it follows no log. */
export function settingsOf(meta: Meta): Settings {
  return JSON.parse(meta.get(META_KEY) ?? '{}') as Settings;
}

/** @param settings null: the store follows no log any more */
export function writeSettings(
  tx: Pick<Statements, 'run'>,
  settings: Settings | null,
): Promise<void> {
  return writeMeta(tx, META_KEY, settings && JSON.stringify(settings));
}

/** Names of settings that are in both, with different values. */
export function differing(a: Settings, b: Settings): string[] {
  return Object.keys(a).filter((name) => name in b && !isSame(a[name], b[name]));
}

/** Whether two values are equal; the order of keys does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
  return textOf(a) === textOf(b);
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
