/** A server as a node of a cluster: the log that it follows, and the settings that it takes from there. */
import { withDeadline } from '../compute/running-time.js';
import { messageOf } from '../storage/errors.js';
import type { JetStreamLog } from '../storage/log/jetstream.js';
import type { LogNode, NodeSettings } from '../storage/log/node.js';
import { differing, type Settings } from '../storage/log/settings.js';
import { shellWord } from '../storage/shell-word.js';
import type { Store } from '../storage/store.js';
import { BUILD } from '../storage/version.js';
import type { ServeOptions } from './cli/serve-options.js';
import { settingText, sharedSettingsOf, withSharedSettings } from './cli/shared-settings.js';
import type { Clock } from './clock.js';
import type { Logger } from './logger.js';
import type { Metrics } from './operations/metrics.js';
import type { Checks } from './operations/operations.js';

/** A node starts with the settings that its store has if JetStream does not answer within this time. */
const SETTINGS_WITHIN_MS = 5000;

/** What a node has before it follows the log. */
export interface Joined {
  name: string;
  log: JetStreamLog;
  /** The node's options, with the cluster's settings in place of its own. */
  options: ServeOptions;
  settings: NodeSettings;
  /** How many changes JetStream has refused. */
  refusals: () => number;
}

interface Joining {
  store: Store;
  logger: Logger;
  /** Takes what to close, in the order of opening. */
  closing: { push(...close: (() => Promise<void>)[]): unknown };
}

/**
 * Connects to the log of the node's cluster, and takes its settings.
 * @throws UsageError if this version cannot serve with them
 */
export async function joinCluster(
  given: ServeOptions,
  { access, node: name, replicas, given: named }: NonNullable<ServeOptions['cluster']>,
  { store, logger, closing }: Joining,
): Promise<Joined> {
  // Loaded on demand: a single server needs none of it.
  const { JetStreamLog } = await import('../storage/log/jetstream.js');
  let refusals = 0;
  const log = new JetStreamLog({
    ...access,
    replicas,
    name: `fathom ${name}`,
    onRefused: (cause) => {
      refusals++;
      logger.error('JetStream refused a change', { cause });
    },
  });
  closing.push(() => log.close());
  const known = { settings: store.applied.settings, position: store.mark?.position ?? 0 };
  const latest = await withDeadline(
    log.settings(known.settings, store.mark),
    SETTINGS_WITHIN_MS,
    "reading the cluster's settings",
  ).catch((error: unknown) => {
    logger.warn(
      "the cluster's settings cannot be read: this node serves with those that it knows",
      {
        cause: messageOf(error),
      },
    );
    return known;
  });
  const options = withSharedSettings(given, latest.settings);
  const own = sharedSettingsOf(given);
  const serving = sharedSettingsOf(options);
  for (const setting of differing(own, serving).filter((other) => named.includes(other))) {
    const configured = settingText(own[setting]);
    logger.warn("the cluster's setting is in effect, not the one of this node's configuration", {
      setting,
      cluster: settingText(serving[setting]),
      configured,
      change_with: `fathom cluster set ${shellWord(`${setting}=${configured}`)}`,
    });
  }
  const settings = followSettings({ own, serving, asOf: latest.position, given, store, logger });
  return { name, log, options, settings, refusals: () => refusals };
}

/** Compares the settings with which a node serves with those in the log, from the position of which it has them. */
function followSettings({
  own,
  serving,
  asOf,
  given,
  store,
  logger,
}: Omit<Joining, 'closing'> & {
  own: Settings;
  serving: Settings;
  asOf: number;
  given: ServeOptions;
}): NodeSettings {
  const others = (): readonly string[] => {
    // A node that catches up meets the settings of earlier times.
    if ((store.mark?.position ?? 0) < asOf) return [];
    const inLog = store.applied.settings;
    try {
      // A setting that a later version added must not look like one that somebody changed.
      return differing(serving, sharedSettingsOf(withSharedSettings(given, inLog)));
    } catch {
      return differing(serving, inLog);
    }
  };
  let reported = '';
  return {
    own,
    get others() {
      return others();
    },
    onChanged: () => {
      const names = others().join(', ');
      if (names === reported) return;
      reported = names;
      if (names === '') logger.info("the cluster's settings are those of this node again");
      else {
        logger.warn("the cluster's settings were changed: restart this node to serve with them", {
          settings: names,
        });
      }
    },
  };
}

/** Starts to follow the cluster's log. */
export async function startNode({
  name,
  log,
  settings,
  refusals,
  store,
  clock,
  metrics,
  logger,
  closing,
}: Joined & Joining & { clock: Clock; metrics: Metrics }): Promise<LogNode> {
  const [{ LogNode }, { SharedUsage }] = await Promise.all([
    import('../storage/log/node.js'),
    import('../storage/log/shared-usage.js'),
  ]);
  await store.usage.countAs(name);
  const { published, applied } = metrics.logTimes();
  const node = new LogNode({
    store,
    name,
    version: BUILD,
    settings,
    nowS: () => clock.nowS(),
    log,
    onStopped: (why) => logger.error('the node no longer follows the log', { why }),
    onError: (error) => logger.warn('the log cannot be followed', { cause: messageOf(error) }),
    onFollowing: (position) => logger.info('the log is followed again', { position }),
    onPublished: published,
    onApplied: applied,
    onMalformed: (position, why) =>
      logger.warn('an entry of the log was not written by Fathom: every node skips it', {
        position,
        why,
      }),
  });
  const usage = new SharedUsage(store.usage, log, name, (error) =>
    logger.error('counting calls over all nodes failed', {}, error),
  );
  closing.push(
    () => node.close(),
    () => usage.close(),
  );
  metrics.follow({
    logPosition: () => node.position,
    logLagS: () => node.lagMs / 1000,
    logRefusals: refusals,
  });
  return node;
}

/** The conditions for a node of a cluster to be ready. */
export function checksOf(node: LogNode): Checks {
  return {
    log: () => node.checkLog(),
    following: () => node.checkFollowing(),
    lag: () => node.checkLag(),
  };
}
