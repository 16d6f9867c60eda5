/** `fathom cluster status`, `set`, `trim`, `leave` */
import { isoOf } from '../../../compute/time.js';
import { StoreUnavailableError } from '../../../storage/errors.js';
import type { ClusterStatus } from '../../../storage/log/cluster.js';
import type { JetStreamLog } from '../../../storage/log/jetstream.js';
import { isSame, type Settings } from '../../../storage/log/settings.js';
import { defineCommand } from '../command.js';
import { DATA, JSON_OUTPUT, wholeNumber } from '../flags.js';
import {
  count,
  counted,
  sizeText,
  PartlyDone,
  printJson,
  printLine,
  printNote,
} from '../output.js';
import { onStore } from '../runtime.js';
import { readAssignments, settingText } from '../shared-settings.js';
import { accessOf, checkAccess, CLUSTER_FLAGS, nodeName } from '../cluster-settings.js';

export const status = defineCommand({
  about:
    "Lists the nodes of a cluster with their positions in the log and their lags, the nodes that no longer answer, the size of the log, and the cluster's settings.",
  flags: { ...CLUSTER_FLAGS, json: JSON_OUTPUT },
  examples: [
    'fathom cluster status --cluster nats://10.0.0.1:4222,nats://10.0.0.2:4222,nats://10.0.0.3:4222',
    'fathom cluster status --cluster nats://127.0.0.1:4222 --json',
  ],
  run: async ({ json, ...access }) => {
    const { clusterStatus } = await import('../../../storage/log/cluster.js');
    const status = await withLog(access, clusterStatus);
    const document = statusDocument(status);
    if (!json) printStatus(status);
    else if (status.fault === null) printJson(document);
    if (status.fault !== null) {
      throw new PartlyDone(new StoreUnavailableError(status.fault), document);
    }
  },
});

function statusDocument({ log, nodes, silent }: ClusterStatus) {
  const { first, last, bytes, replicas } = log ?? {};
  return {
    log: log && { first, last, bytes, replicas },
    nodes: nodes.map(({ node, version, position, stopped, lagS, otherSettings }) => ({
      node,
      version,
      position,
      stopped,
      lag_s: lagS,
      other_settings: otherSettings,
    })),
    silent: silent.map(({ node, version, position, sinceS }) => ({
      node,
      version,
      position,
      silent_since: sinceS,
    })),
    settings: settingsIn(nodes),
  };
}

/** The cluster's settings, by the node that is the furthest; null if none answers. */
function settingsIn(nodes: ClusterStatus['nodes']): Settings | null {
  const [furthest] = [...nodes].sort((a, b) => b.position - a.position);
  return (furthest as (typeof nodes)[0] | undefined)?.settings ?? null;
}

function printSettings(settings: Settings): void {
  for (const [name, value] of Object.entries(settings)) {
    printLine(`setting  ${name}=${settingText(value)}`);
  }
}

function printStatus({ log, fault, nodes, silent }: ClusterStatus): void {
  if (log !== null) {
    const { first, last, bytes, replicas } = log;
    const entries =
      last < first ? `no entries, the last was ${last}` : `entries ${first} to ${last}`;
    printLine(`log  ${entries}  ${sizeText(bytes)}  replicas ${replicas}`);
  } else printLine(fault === null ? 'log  none' : 'log  unknown');
  for (const { node, version, position, lagS, stopped, otherSettings } of nodes) {
    const lag = lagS === null ? 'unknown' : `${lagS.toFixed(1)} s`;
    const why = stopped === null ? '' : `  stopped: ${stopped}`;
    const others =
      otherSettings.length === 0 ? '' : `  to be restarted: ${otherSettings.join(', ')}`;
    printLine(`${node}  position ${position}  lag ${lag}  version ${version}${others}${why}`);
  }
  if (nodes.length === 0) printLine('no node answers');
  for (const { node, version, position, sinceS } of silent) {
    const then = `position ${position} then  version ${version}`;
    printLine(`${node}  silent since ${isoOf(sinceS)}  ${then}`);
  }
  printSettings(settingsIn(nodes) ?? {});
}

export const set = defineCommand({
  about:
    "Changes settings of a cluster, through the node that runs on a data directory. They are in the cluster's log: every node serves with them from its next start on.",
  words: { 'name=value': { repeated: true } },
  flags: { data: DATA, json: JSON_OUTPUT },
  examples: [
    'fathom cluster set stale-after=2h lenient-parameters=true --data data',
    'fathom cluster set \'retention={"raw":"30d"}\' --json',
  ],
  run: async ({ data, json }, { 'name=value': given }) => {
    const settings = readAssignments(given);
    const { position, before } = await onStore({ data }, (store) => store.changeSettings(settings));
    const isChanged = (name: string) => !isSame(settings[name], before[name]);
    if (json) {
      const changed = Object.keys(settings).filter(isChanged);
      const changes = changed.map((name) => [
        name,
        { from: before[name] ?? null, to: settings[name] },
      ]);
      printJson({ position, changed: Object.fromEntries(changes) as object });
      return;
    }
    for (const [name, value] of Object.entries(settings)) {
      const was = name in before ? settingText(before[name]) : 'not set';
      const note = isChanged(name) ? `was ${was}` : 'as before';
      printLine(`${name}=${settingText(value)}  ${note}`);
    }
    if (position === null) printNote('nothing was changed');
    else printNote('restart the nodes one after the other: each then serves with the new settings');
  },
});

export const trim = defineCommand({
  about:
    "Frees the entries of a cluster's log up to a position that a backup covers, unless a node still needs them.",
  flags: {
    ...CLUSTER_FLAGS,
    to: {
      placeholder: 'POSITION',
      meaning: 'last entry to free: the position that fathom backup named, or an earlier one',
      needed: true,
      read: (text: string, from: string) => wholeNumber(text, from, 1, Number.MAX_SAFE_INTEGER),
    },
    without: {
      placeholder: 'NODE',
      meaning: 'a silent node whose missing entries may go',
      repeated: true,
      read: nodeName,
    },
    json: JSON_OUTPUT,
  },
  examples: [
    'fathom cluster trim --to 5000 --cluster nats://10.0.0.1:4222,nats://10.0.0.2:4222',
    'fathom cluster trim --to 5000 --without c --cluster nats://127.0.0.1:4222 --json',
  ],
  run: async ({ to, without, json, ...access }) => {
    const { trimLog } = await import('../../../storage/log/cluster.js');
    const trimmed = await withLog(access, (log) => trimLog(log, to, without));
    if (json) printJson(trimmed);
    else {
      const kept =
        trimmed.to < to ? `: a bundle whose entry comes after ${count(to)} begins there` : '';
      printLine(
        `freed ${counted(trimmed.freed, 'position')}; the log begins after position ${count(trimmed.to)}${kept}`,
      );
    }
  },
});

export const leave = defineCommand({
  about:
    'Turns the data directory of a stopped node into that of a single server: the directory keeps its data and no longer follows a log. A new cluster can begin with it.',
  flags: { data: DATA, json: JSON_OUTPUT },
  examples: ['fathom cluster leave --data data', 'fathom cluster leave --data data --json'],
  run: async ({ data, json }) => {
    const left = await onStore({ data }, (store) => store.leaveLog());
    if (json) printJson({ position: left?.position ?? null, settings: left?.settings ?? null });
    else if (left === null) printLine('the directory belonged to no cluster');
    else {
      printLine(`the directory was at position ${left.position}, and no longer follows a log`);
      printSettings(left.settings);
      printNote('its server now serves with the settings of its configuration');
    }
  },
});

async function withLog<T>(
  access: Parameters<typeof accessOf>[0],
  body: (log: JetStreamLog) => Promise<T>,
): Promise<T> {
  checkAccess(access);
  const { JetStreamLog } = await import('../../../storage/log/jetstream.js');
  const log = new JetStreamLog({ ...accessOf(access), name: 'fathom cluster', replicas: 1 });
  try {
    return await body(log);
  } finally {
    await log.close();
  }
}
