/** The settings that change replies: all nodes take them from the log, and a changed configuration changes them there. */
import type { Statements } from '../duckdb/statements.js';
import { type Meta, writeMeta } from '../meta.js';

/** JSON values by the setting's name. */
export type Settings = Readonly<Record<string, unknown>>;

/** The settings kept by a store. */
export interface KnownSettings {
  /** The log's settings as of the store's mark; null if it has none yet. */
  log: Settings | null;
  /** The configuration of the node that last followed the log with this store; null if none has. */
  own: { node: string; settings: Settings } | null;
}

const META_KEYS = { log: 'log_settings', own: 'own_settings' } as const;

export function settingsOf(meta: Meta): KnownSettings {
  const read = (key: string): unknown => JSON.parse(meta.get(key) ?? 'null');
  return { log: read(META_KEYS.log), own: read(META_KEYS.own) } as KnownSettings;
}

export function writeSettings<K extends keyof KnownSettings>(
  tx: Pick<Statements, 'run'>,
  which: K,
  value: KnownSettings[K],
): Promise<void> {
  return writeMeta(tx, META_KEYS[which], value && JSON.stringify(value));
}

interface SharedSettingsOptions {
  /** Stores the settings. */
  store: {
    readonly settings: KnownSettings;
    saveOwnSettings(own: KnownSettings['own']): Promise<void>;
  };
  node: string;
  /** The node's configuration. */
  own: Settings;
  /** Settings that another version may have stored, as this version writes them. @throws UsageError if it cannot read them */
  asOurs?: (settings: Settings) => Settings;
  /** Called when settings begin or cease to differ between the log and what the node serves with; gets their names. */
  onOther: (names: readonly string[]) => void;
}

export class SharedSettings {
  /** The settings with which this run of the node serves. */
  readonly serving: Settings;
  /** Whether the configuration was changed since the node last followed the log. */
  private readonly isChanged: boolean;
  private sharing: 'to do' | 'running' | 'done' = 'to do';
  /** The names with which onOther was last called. */
  private reported = '';

  constructor(private readonly options: SharedSettingsOptions) {
    const { store, node, own } = options;
    const { settings: known } = store;
    const before = known.own?.node === node ? this.asOurs(known.own.settings) : null;
    this.isChanged = before !== null && differing(own, before).length > 0;
    this.serving =
      this.isChanged || known.log === null ? own : { ...own, ...this.asOurs(known.log) };
  }

  /** Names of settings in which the log differs from those with which the node serves. */
  get others(): readonly string[] {
    const { log } = this.options.store.settings;
    return log === null ? [] : differing(this.serving, this.asOurs(log));
  }

  /** Names of settings in which the node's configuration differs from those with which it serves. */
  get overruled(): readonly string[] {
    return differing(this.options.own, this.serving);
  }

  /**
   * Publishes this node's settings if the log has none, or if they were changed. Call it repeatedly once the node has
   * applied all of the log, or nearly all if the log has settings.
   */
  async share(publish: (settings: Settings) => Promise<unknown>): Promise<void> {
    if (this.sharing === 'to do') {
      this.sharing = 'running';
      try {
        await this.publishOwn(publish);
        this.sharing = 'done';
      } finally {
        if (this.sharing === 'running') this.sharing = 'to do';
      }
    }
    const others = this.others;
    if (others.join() === this.reported) return;
    this.reported = others.join();
    this.options.onOther(others);
  }

  /** A setting that a later version added must not look like one that somebody changed. */
  private asOurs(settings: Settings): Settings {
    try {
      return this.options.asOurs?.(settings) ?? settings;
    } catch {
      return settings;
    }
  }

  private async publishOwn(publish: (settings: Settings) => Promise<unknown>): Promise<void> {
    const { store, node, own } = this.options;
    const { log } = store.settings;
    const isOther = log === null || (this.isChanged && differing(own, this.asOurs(log)).length > 0);
    if (isOther) await publish(own);
    const latest = { node, settings: own };
    if (textOf(store.settings.own) !== textOf(latest)) await store.saveOwnSettings(latest);
  }
}

/** Names of settings that have different values in `a` and `b`. */
function differing(a: Settings, b: Settings): string[] {
  return Object.keys(a).filter((name) => name in b && textOf(a[name]) !== textOf(b[name]));
}

/** The JSON of a value with its keys in order: equal values have equal texts. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
