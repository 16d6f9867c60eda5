/** The settings that change replies, alike on all nodes: the log has them, and a node that is changed changes it. */
import type { Statements } from '../duckdb/statements.js';

/** Values by setting, as JSON has them. */
export type Settings = Readonly<Record<string, unknown>>;

/** What a store knows of them; null: nothing yet. */
export interface KnownSettings {
  /** Those of the log, as of the store's mark. */
  log: Settings | null;
  /** Those that a node was configured with when it last followed the log. */
  own: { node: string; settings: Settings } | null;
}

const META_KEYS = { log: 'log_settings', own: 'own_settings' } as const;

export async function readSettings(statements: Pick<Statements, 'rows'>): Promise<KnownSettings> {
  const rows = await statements.rows(
    `SELECT key, value FROM meta WHERE key IN ('${META_KEYS.log}', '${META_KEYS.own}')`,
  );
  const read = (key: string): unknown => {
    const row = rows.find(([found]) => found === key);
    return row === undefined ? null : JSON.parse(row[1] as string);
  };
  return { log: read(META_KEYS.log), own: read(META_KEYS.own) } as KnownSettings;
}

export async function writeSettings<K extends keyof KnownSettings>(
  tx: Pick<Statements, 'run'>,
  which: K,
  value: KnownSettings[K],
): Promise<void> {
  await tx.run('DELETE FROM meta WHERE key = ?', [META_KEYS[which]]);
  if (value === null) return;
  await tx.run('INSERT INTO meta VALUES (?, ?)', [META_KEYS[which], JSON.stringify(value)]);
}

export interface SharedSettingsOptions {
  store: {
    readonly settings: KnownSettings;
    saveOwnSettings(own: KnownSettings['own']): Promise<void>;
  };
  node: string;
  /** What this node is configured with. */
  own: Settings;
  /** Told the names of settings in which the log differs from what the node serves with, when they change. */
  onOther: (names: readonly string[]) => void;
}

export class SharedSettings {
  /** What the node serves with while it runs. */
  readonly serving: Settings;
  /** Whether the node was configured anew since it last followed the log. */
  private readonly isChanged: boolean;
  private isShared = false;
  private isSharing = false;
  private told = '';

  constructor(private readonly options: SharedSettingsOptions) {
    const { store, node, own } = options;
    const { settings: known } = store;
    const before = known.own?.node === node ? known.own.settings : null;
    this.isChanged = before !== null && differing(own, before).length > 0;
    this.serving = this.isChanged || known.log === null ? own : { ...own, ...known.log };
  }

  /** Names of those in which the log differs from what the node serves with. */
  get others(): readonly string[] {
    const { log } = this.options.store.settings;
    return log === null ? [] : differing(this.serving, log);
  }

  /** Names of those in which the node is configured otherwise than it serves. */
  get overruled(): readonly string[] {
    return differing(this.options.own, this.serving);
  }

  /**
   * Call again and again while the node has applied all of the log, or nearly all where that has settings: the log gets
   * this node's where it has none, or where they are new.
   */
  async share(publish: (settings: Settings) => Promise<unknown>): Promise<void> {
    if (!this.isShared && !this.isSharing) {
      this.isSharing = true;
      await this.hand(publish).finally(() => (this.isSharing = false));
    }
    const others = this.others;
    if (others.join() === this.told) return;
    this.told = others.join();
    this.options.onOther(others);
  }

  private async hand(publish: (settings: Settings) => Promise<unknown>): Promise<void> {
    const { store, node, own } = this.options;
    const known = store.settings;
    const holds = this.isChanged || known.log === null;
    if (holds && (known.log === null || differing(own, known.log).length > 0)) await publish(own);
    const latest = { node, settings: own };
    if (textOf(known.own) !== textOf(latest)) await store.saveOwnSettings(latest);
    this.isShared = true;
  }
}

/** Names of the settings of `a` that `b` has with another value. */
function differing(a: Settings, b: Settings): string[] {
  return Object.keys(a).filter((name) => name in b && textOf(a[name]) !== textOf(b[name]));
}

/** One text for one value, whatever the order of its keys. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
