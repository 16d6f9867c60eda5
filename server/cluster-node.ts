/** A server as a node of a cluster: the settings that it shares, and the log that it follows. */
import { messageOf } from '../storage/errors.js';
import type { LogNode } from '../storage/log/node.js';
import { SharedSettings } from '../storage/log/settings.js';
import type { Store } from '../storage/store.js';
import { sharedSettingsOf, withSharedSettings } from './cli/shared-settings.js';
import type { ServeOptions } from './cli/serve-options.js';
import type { Clock } from './clock.js';
import type { Log } from './log.js';
import type { Metrics } from './operations/metrics.js';
import type { Checks } from './operations/operations.js';
import { VERSION } from '../storage/version.js';

/** The settings that a node shares with the others of its cluster. */
export function sharedSettings(
  options: ServeOptions,
  node: string,
  store: Store,
  log: Log,
): SharedSettings {
  const settings = new SharedSettings({
    store: store.log,
    node,
    own: sharedSettingsOf(options),
    asOurs: (stored) => sharedSettingsOf(withSharedSettings(options, stored)),
    onOther: (names) =>
      names.length === 0
        ? log.info("the cluster's settings are those of this node again")
        : log.warn("the cluster's settings were changed: restart this node to serve with them", {
            settings: names.join(', '),
          }),
  });
  const { overruled } = settings;
  if (overruled.length > 0) {
    log.warn("this node uses the cluster's settings, which differ from its configuration", {
      settings: overruled.join(', '),
    });
  }
  return settings;
}

/** Starts to follow the cluster's log, and loads the modules for that on demand. */
export async function startNode({
  access,
  node: name,
  replicas,
  settings,
  store,
  clock,
  metrics,
  log,
  closing,
}: NonNullable<ServeOptions['cluster']> & {
  settings: SharedSettings;
  store: Store;
  clock: Clock;
  metrics: Metrics;
  log: Log;
  closing: (() => Promise<void>)[];
}): Promise<LogNode> {
  const [{ JetStreamLog }, { LogNode }, { SharedUsage }] = await Promise.all([
    import('../storage/log/jetstream.js'),
    import('../storage/log/node.js'),
    import('../storage/log/shared-usage.js'),
  ]);
  await store.usage.countAs(name);
  const { published, applied } = metrics.logTimes();
  let refusals = 0;
  const journal = new JetStreamLog({
    ...access,
    replicas,
    name: `fathom ${name}`,
    onRefused: (cause) => {
      refusals++;
      log.error('JetStream refused a change', { cause });
    },
  });
  const node = new LogNode({
    store,
    name,
    version: VERSION,
    settings,
    nowS: () => clock.nowS(),
    log: journal,
    onStopped: (why) => log.error('the node no longer follows the log', { why }),
    onError: (error) => log.warn('the log cannot be followed', { cause: messageOf(error) }),
    onFollowing: (position) => log.info('the log is followed again', { position }),
    onPublished: published,
    onApplied: applied,
    onMalformed: (position, why) =>
      log.warn('an entry of the log was not written by Fathom: every node skips it', {
        position,
        why,
      }),
  });
  const usage = new SharedUsage(store.usage, journal, name, (error) =>
    log.error('counting calls over all nodes failed', {}, error),
  );
  closing.push(
    () => node.close(),
    () => usage.close(),
  );
  metrics.follow({
    logPosition: () => node.position,
    logLagS: () => node.lagMs / 1000,
    logRefusals: () => refusals,
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
