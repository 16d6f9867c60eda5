/** What a node states about itself: its status to any node that asks, and reports kept by JetStream. */
import { randomUUID } from 'node:crypto';
import { isoOf } from '../../compute/time.js';
import type { JetStreamLog } from './jetstream.js';
import type { NodeReport } from './reports.js';

const STATUS_TOPIC = 'status';
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
  /** Settings in which the log differs from those with which the node serves. */
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
    log.listen(STATUS_TOPIC, () => this.status).catch(() => undefined);
  }

  private get status(): NodeStatus {
    const { node, version, process, joined } = this;
    return { node, version, process, joined, ...this.following() };
  }

  /** Stores a report, which other nodes read when this one no longer answers. */
  async report(): Promise<void> {
    const { node, version } = this;
    const report: NodeReport = { version, position: this.following().position };
    const number = await this.log.reports.put(node, report);
    this.joined ??= number;
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
  const nodes = await log.ask<NodeStatus>(STATUS_TOPIC);
  return nodes.sort((a, b) => (a.node < b.node ? -1 : 1));
}

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
