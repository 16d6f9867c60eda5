/** What operators ask of a cluster: the state of its nodes, the removal of old entries. */
import { InputError, messageOf, StoreUnavailableError } from '../errors.js';
import type { JetStreamLog, LogState } from './jetstream.js';
import { answeringNodes, type NodeStatus } from './presence.js';
import type { NodeReport } from './reports.js';

const CONNECT_MS = 5000;

export interface ClusterStatus {
  /** null if JetStream has no log, has lost it, or cannot say. */
  log: LogState | null;
  /** Why JetStream cannot say, such as too few servers; null if it did. */
  fault: string | null;
  /** Nodes that answered, sorted by name. */
  nodes: NodeStatus[];
  /** Nodes that reported earlier and did not answer, sorted by name; none if JetStream cannot say. */
  silent: SilentNode[];
}

interface SilentNode extends NodeReport {
  node: string;
  /** When it made this report, in epoch seconds of JetStream's clock. */
  sinceS: number;
}

const NO_LOG = 'there is no log: no node has made one yet';

/** @throws StoreUnavailableError if JetStream does not answer | InputError if there is neither a log nor a node */
export async function clusterStatus(log: JetStreamLog): Promise<ClusterStatus> {
  await log.connected(CONNECT_MS).catch(() => {
    throw new StoreUnavailableError(
      `JetStream does not answer within ${CONNECT_MS / 1000} s${log.reason}`,
    );
  });
  let nodes: NodeStatus[] = [];
  try {
    nodes = await answeringNodes(log);
    const state = await log.state();
    if (state === null && nodes.length === 0) throw new InputError(NO_LOG);
    const silent = await silentNodes(log, nodes);
    return { log: state, fault: null, nodes, silent };
  } catch (error) {
    if (error instanceof InputError) throw error;
    const fault = `JetStream cannot say what the log holds: ${messageOf(error)}`;
    return { log: null, fault, nodes, silent: [] };
  }
}

/** @throws StoreUnavailableError that says what JetStream failed to do, in place of the library's errors */
async function change<T>(failure: string, requests: () => Promise<T>): Promise<T> {
  try {
    return await requests();
  } catch (error) {
    throw new StoreUnavailableError(`JetStream ${failure}: ${messageOf(error)}; try again`);
  }
}

/** Like clusterStatus(). @throws StoreUnavailableError also if JetStream cannot say what the log holds */
async function knownStatus(log: JetStreamLog): Promise<ClusterStatus> {
  const status = await clusterStatus(log);
  if (status.fault !== null) throw new StoreUnavailableError(status.fault);
  return status;
}

async function silentNodes(
  log: JetStreamLog,
  answering: readonly NodeStatus[],
): Promise<SilentNode[]> {
  const names = new Set(answering.map(({ node }) => node));
  return (await log.reports.all())
    .filter(({ node }) => !names.has(node))
    .map(({ node, report, timeMs }) => ({ node, ...report, sinceS: Math.floor(timeMs / 1000) }))
    .sort((a, b) => (a.node < b.node ? -1 : 1));
}

/**
 * Removes a silent node from the list of nodes.
 * @throws InputError if it answers or is unknown | StoreUnavailableError
 */
export async function forgetNode(log: JetStreamLog, name: string): Promise<void> {
  const { nodes, silent } = await knownStatus(log);
  if (nodes.some(({ node }) => node === name)) {
    throw new InputError(`node ${name} answers: stop it first`);
  }
  if (!silent.some(({ node }) => node === name)) {
    const known = silent.map(({ node }) => node).join(', ') || 'none';
    throw new InputError(`there is no silent node ${name}; silent nodes: ${known}`);
  }
  await change(`did not forget node ${name}`, () => log.reports.forget(name));
}

/**
 * Removes the entries up to a position, with their large bundles; it stops before the parts of a bundle whose entry comes
 * later.
 * @returns the position after which the log begins, and how many positions were freed
 * @throws InputError if a node that answers, or the log itself, has not reached the position | StoreUnavailableError
 */
export async function trimLog(
  log: JetStreamLog,
  to: number,
): Promise<{ to: number; freed: number }> {
  const { log: state, nodes } = await knownStatus(log);
  if (state === null) throw new InputError(NO_LOG);
  if (to > state.last) throw new InputError(`--to: the log ends at position ${state.last}`);
  const behind = nodes.find(({ position }) => position < to);
  if (behind !== undefined) {
    throw new InputError(`--to: node ${behind.node} is only at position ${behind.position}`);
  }
  return change('did not free all entries', () => log.trim(to));
}
