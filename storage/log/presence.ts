/** What the nodes of a cluster say about themselves: now, to anyone who asks, and last, which JetStream keeps. */
import { randomUUID } from 'node:crypto';
import {
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { pack, unpackOrNull } from '../../compute/messagepack.js';
import { DAY_MS, isoOf } from '../../compute/time.js';
import type { JetStreamLog } from './jetstream.js';
import type { Settings } from './settings.js';
import { isNoResponders, NO_MESSAGE, NO_STREAM, nullWith } from './jetstream-errors.js';

const TOPIC = 'status';
const STREAM = 'FATHOM_NODES';
const SUBJECTS = 'fathom-nodes.known.';
/** Nodes known at once. The one that has been silent longest is forgotten first. */
const MAX_KNOWN = 256;
/** A node that has been silent for this long is forgotten. */
const FORGOTTEN_AFTER_MS = 30 * DAY_MS;
/** Clocks that differ by more than this disagree. */
const MAX_CLOCK_DIFFERENCE_S = 60;

/** How a node follows the log. */
interface FollowingState {
  /** The last entry that it has applied. */
  position: number;
  /** null if unknown. */
  lagS: number | null;
  /** Why it no longer follows the log; null if it does. */
  stopped: string | null;
  /** The cluster's settings as of its position. */
  settings: Settings;
  /** Names of those that differ from the settings with which the node serves. */
  otherSettings: readonly string[];
  /** Its clock, in epoch seconds. */
  clockS: number;
}

export interface NodeStatus extends FollowingState {
  node: string;
  version: string;
  /** Distinguishes two processes with the same name. */
  process: string;
  /** The number of the process's first report, lower if it began earlier; null before the first report. */
  joined: number | null;
}

/** The last report of a node that does not answer. */
export interface SilentNode extends NodeStatus {
  /** When JetStream got it, in epoch seconds of its server's clock. */
  sinceS: number;
}

export class Presence {
  private readonly process = randomUUID();
  private joined: number | null = null;

  /** @param following called whenever the node answers or reports */
  constructor(
    private readonly log: JetStreamLog,
    private readonly node: string,
    private readonly version: string,
    private readonly following: () => FollowingState,
  ) {
    log.listen(TOPIC, () => this.status).catch(() => undefined);
  }

  private get status(): NodeStatus {
    const { node, version, process, joined } = this;
    return { node, version, process, joined, ...this.following() };
  }

  /** Replaces this node's last report, which others read when it no longer answers. */
  async report(): Promise<void> {
    const { manager, client } = await this.log.open();
    const publish = () =>
      client.publish(`${SUBJECTS}${this.node}`, pack(this.status), { retries: 1 });
    const { seq } = await publish().catch(async (error: unknown) => {
      if (!isNoResponders(error)) throw error;
      await makeStream(manager, (await this.log.state())?.replicas ?? 1);
      return publish();
    });
    this.joined ??= seq;
  }

  /** Reports, and returns whether a process that began earlier follows the log under the same name. */
  async hasOlderTwin(): Promise<boolean> {
    await this.report();
    const joined = this.joined ?? Infinity;
    return (await answeringNodes(this.log)).some(
      (other) =>
        other.node === this.node &&
        other.process !== this.process &&
        other.stopped === null &&
        (other.joined ?? Infinity) < joined,
    );
  }
}

/** The status of each node that answers, sorted by name. @throws LogUnreachableError */
export async function answeringNodes(log: JetStreamLog): Promise<NodeStatus[]> {
  return (await log.ask<NodeStatus>(TOPIC)).sort(byName);
}

/** The last report of each known node that is not among those that answer, sorted by name. */
export async function silentNodes(
  log: JetStreamLog,
  answering: readonly NodeStatus[],
): Promise<SilentNode[]> {
  const { manager } = await log.open();
  const query = { subjects_filter: `${SUBJECTS}*` };
  const info = await manager.streams.info(STREAM, query).catch(nullWith(NO_STREAM));
  const answer = new Set(answering.map(({ node }) => `${SUBJECTS}${node}`));
  const silent = Object.keys(info?.state.subjects ?? {}).filter((subject) => !answer.has(subject));
  const reports = silent.map(async (subject): Promise<SilentNode[]> => {
    const last = manager.streams.getMessage(STREAM, { last_by_subj: subject });
    const message = await last.catch(nullWith(NO_MESSAGE));
    const status = message && unpackOrNull<NodeStatus>(message.data);
    if (!message || !status) return [];
    const node = subject.slice(SUBJECTS.length);
    return [{ ...status, node, sinceS: Math.floor(message.time.getTime() / 1000) }];
  });
  return (await Promise.all(reports)).flat().sort(byName);
}

const byName = (a: NodeStatus, b: NodeStatus): number => (a.node < b.node ? -1 : 1);

/**
 * Why this node's clock should not be trusted: at most half of the answering nodes, including this one, agree with it.
 * null if more agree.
 * @throws LogUnreachableError
 */
export async function clockDoubt(log: JetStreamLog, nowS: () => number): Promise<string | null> {
  const fromS = nowS() - MAX_CLOCK_DIFFERENCE_S;
  const clocks = (await answeringNodes(log)).map(({ clockS }) => clockS);
  // Read again: the answers may have come while this process was paused.
  const toS = nowS() + MAX_CLOCK_DIFFERENCE_S;
  const agreeing = clocks.filter((clockS) => clockS >= fromS && clockS <= toS).length;
  if (2 * agreeing > clocks.length) return null;
  return `this node's clock says ${isoOf(nowS())}, and only ${agreeing} of the ${clocks.length} nodes that answer agree within ${MAX_CLOCK_DIFFERENCE_S} s: set the clocks right`;
}

async function makeStream(manager: JetStreamManager, copies: number): Promise<void> {
  const settings = {
    name: STREAM,
    subjects: [`${SUBJECTS}*`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_msgs: MAX_KNOWN,
    max_msgs_per_subject: 1,
    max_age: nanos(FORGOTTEN_AFTER_MS),
    num_replicas: copies,
  };
  // Another node may have created it in the meantime.
  await manager.streams.add(settings).catch(() => manager.streams.info(STREAM));
}
