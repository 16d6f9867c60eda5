/** What operators ask of a cluster: how its nodes stand, what they lack, and to free what they need no longer. */
import { Packr, Unpackr } from 'msgpackr';
import { isoOf } from '../../compute/time.js';
import type { QueuedToken } from '../contract.js';
import { InputError, StoreUnavailableError } from '../errors.js';
import { byRequest } from '../queue.js';
import { largeBundleOf } from './entry.js';
import type { JetStreamLog, LogState } from './jetstream.js';

export const STATUS_TOPIC = 'status';
export const QUEUE_TOPIC = 'queue';
/** Tokens of one answer, the most requested ones: it stays below what NATS takes. */
const MAX_TOLD_TOKENS = 5000;
/** How long nodes are waited for. */
const ANSWER_MS = 1000;
const CONNECT_MS = 5000;
/** Clocks of nodes that are further apart do not agree. */
export const MAX_CLOCK_DIFFERENCE_S = 60;

export interface NodeStatus {
  node: string;
  /** Tells two processes apart that have one name. */
  process: string;
  /** The number of this process's first report; null: it has made none. Who began earlier has the lesser one. */
  joined: number | null;
  version: string;
  position: number;
  /** null: not known. */
  lagS: number | null;
  /** Why it follows the log no longer. */
  stopped: string | null;
  /** Settings in which the log differs from what it serves with. */
  otherSettings: readonly string[];
  /** What its clock said, epoch seconds; nodes of earlier versions do not say. */
  clockS?: number;
}

export interface ClusterStatus {
  /** null: JetStream has none, or has it no longer. */
  log: LogState | null;
  /** Nodes that answered, by name. */
  nodes: NodeStatus[];
  /** Those that do not, and did, by name. */
  silent: SilentNode[];
}

/** What a node reports, for the time when it is silent. */
type NodeReport = Pick<NodeStatus, 'version' | 'position'>;

export interface SilentNode extends NodeReport {
  node: string;
  /** When it reported last, in epoch seconds by JetStream's clock. Its position is that of then. */
  sinceS: number;
}

const NO_LOG = 'there is no log: no node has made one yet';

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false });

export const packStatus = (status: NodeStatus): Uint8Array => packr.pack(status);

/** @throws StoreUnavailableError if JetStream does not answer | InputError if there is neither log nor node */
export async function clusterStatus(log: JetStreamLog): Promise<ClusterStatus> {
  await log.connected(CONNECT_MS).catch(() => {
    throw new StoreUnavailableError(
      `JetStream does not answer within ${CONNECT_MS / 1000} s${log.reason}`,
    );
  });
  const state = await log.state();
  const nodes = await nodesOf(log);
  if (state === null && nodes.length === 0) throw new InputError(NO_LOG);
  const bytes = (state?.bytes ?? 0) + (await log.bundles.bytes());
  return { log: state && { ...state, bytes }, nodes, silent: await silentBeside(log, nodes) };
}

/** A node tells who asks when it is silent how it stood. @returns the report's number */
export function report(
  log: JetStreamLog,
  node: string,
  said: NodeReport,
  copies: number,
): Promise<number> {
  return log.reports.put(node, packr.pack(said), copies);
}

async function silentBeside(
  log: JetStreamLog,
  nodes: readonly NodeStatus[],
): Promise<SilentNode[]> {
  const silent = (await log.reports.all()).filter(
    (one) => !nodes.some(({ node }) => node === one.node),
  );
  return silent
    .map(({ node, data, timeMs }) => {
      const { version, position } = unpackr.unpack(data) as NodeReport;
      return { node, version, position, sinceS: Math.floor(timeMs / 1000) };
    })
    .sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** Lets a node that is silent be known no longer. @throws InputError if it answers, or is not known */
export async function forgetNode(log: JetStreamLog, name: string): Promise<void> {
  const { nodes, silent } = await clusterStatus(log);
  if (nodes.some(({ node }) => node === name)) {
    throw new InputError(`node ${name} answers: stop it first`);
  }
  if (!silent.some(({ node }) => node === name)) {
    const known = silent.map(({ node }) => node).join(', ') || 'none';
    throw new InputError(`there is no silent node ${name}; silent nodes: ${known}`);
  }
  await log.reports.forget(name);
}

/** The nodes that answer, by name. */
async function nodesOf(log: JetStreamLog): Promise<NodeStatus[]> {
  const answers = await log.ask(STATUS_TOPIC, ANSWER_MS);
  const nodes = answers.map((answer) => unpackr.unpack(answer) as NodeStatus);
  return nodes.sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** Whether a process that began earlier, as JetStream has numbered them, follows the log under the same name. */
export async function hasOlderTwin(
  log: JetStreamLog,
  { node, process, joined }: Pick<NodeStatus, 'node' | 'process'> & { joined: number },
): Promise<boolean> {
  return (await nodesOf(log)).some(
    (one) =>
      one.node === node &&
      one.process !== process &&
      one.stopped === null &&
      (one.joined ?? Infinity) < joined,
  );
}

/**
 * What speaks against this node's clock: that it does not agree with those of most nodes that answer, itself
 * counted; null: nothing does.
 */
export async function clockDoubt(
  log: JetStreamLog,
  nowS: () => number,
  difference = MAX_CLOCK_DIFFERENCE_S,
): Promise<string | null> {
  const fromS = nowS() - difference;
  const clocks = (await nodesOf(log)).flatMap(({ clockS }) => clockS ?? []);
  // After the answers: they may have come while this process stood still.
  const toS = nowS() + difference;
  const agreeing = clocks.filter((clockS) => clockS >= fromS && clockS <= toS).length;
  if (2 * agreeing > clocks.length) return null;
  return `this node's clock says ${isoOf(nowS())}, and with ${difference} s of tolerance ${agreeing} of the ${clocks.length} nodes that answer agree: set the clocks right`;
}

export function packQueue(node: string, queue: readonly QueuedToken[]): Uint8Array {
  const told = [...queue].sort((a, b) => b.requests - a.requests).slice(0, MAX_TOLD_TOKENS);
  return packr.pack({ node, told });
}

/** A node's queue with those of the others that answer: the same token once, its requests added up. */
export async function clusterQueue(
  log: JetStreamLog,
  node: string,
  own: readonly QueuedToken[],
): Promise<QueuedToken[]> {
  const answers = await log.ask(QUEUE_TOPIC, ANSWER_MS);
  const lists = answers.map(
    (answer) => unpackr.unpack(answer) as { node: string; told: QueuedToken[] },
  );
  const all = new Map<string, QueuedToken>();
  const others = lists.filter((list) => list.node !== node).flatMap(({ told }) => told);
  for (const token of [...own, ...others]) {
    const known = all.get(token.address);
    all.set(token.address, {
      ...token,
      requestedAtS: Math.min(token.requestedAtS, known?.requestedAtS ?? Infinity),
      requests: token.requests + (known?.requests ?? 0),
    });
  }
  return [...all.values()].sort(byRequest);
}

/**
 * Removes the entries up to a position, and the bundles beside them.
 * @returns how many
 * @throws InputError if a node that answers, or the log, has not come so far
 */
export async function trimLog(log: JetStreamLog, to: number): Promise<number> {
  const { log: state, nodes } = await clusterStatus(log);
  if (state === null) throw new InputError(NO_LOG);
  if (to > state.last) throw new InputError(`--to: the log ends at position ${state.last}`);
  const behind = nodes.find(({ position }) => position < to);
  if (behind !== undefined) {
    throw new InputError(`--to: node ${behind.node} has come to position ${behind.position} only`);
  }
  for await (const { data } of log.largeEntries(state.first, to)) {
    const name = largeBundleOf(data);
    if (name !== null) await log.bundles.delete(name);
  }
  return log.trim(to);
}
