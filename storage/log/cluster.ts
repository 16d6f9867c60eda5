/** What operators ask of a cluster: the state of its nodes, the removal of old entries. */
import { InputError, messageOf, StoreUnavailableError } from '../errors.js';
import type { JetStreamLog, LogState } from './jetstream.js';
import { answeringNodes, type NodeStatus, type SilentNode, silentNodes } from './presence.js';

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

/** Like clusterStatus(). @throws StoreUnavailableError also if JetStream cannot say what the log holds */
async function knownStatus(log: JetStreamLog): Promise<ClusterStatus> {
  const status = await clusterStatus(log);
  if (status.fault !== null) throw new StoreUnavailableError(status.fault);
  return status;
}

/**
 * Removes the entries up to a position, with their large bundles; it stops before the parts of a bundle whose entry comes
 * later.
 * @param without silent nodes that may lose entries which they lack
 * @returns the position after which the log begins, and how many positions were freed
 * @throws InputError if the log, or a node other than those, has not reached the position | StoreUnavailableError
 */
export async function trimLog(
  log: JetStreamLog,
  to: number,
  without: readonly string[] = [],
): Promise<{ to: number; freed: number }> {
  const { log: state, nodes, silent } = await knownStatus(log);
  if (state === null) throw new InputError(NO_LOG);
  if (to > state.last) throw new InputError(`--to: the log ends at position ${state.last}`);
  const stray = without.find((name) => !silent.some(({ node }) => node === name));
  if (stray !== undefined) {
    const names = silent.map(({ node }) => node).join(', ') || 'none';
    throw new InputError(`--without: there is no silent node ${stray}; silent nodes: ${names}`);
  }
  const behind = nodes.find(({ position }) => position < to);
  if (behind !== undefined) {
    throw new InputError(`--to: node ${behind.node} is only at position ${behind.position}`);
  }
  const lacking = silent.find(({ node, position }) => position < to && !without.includes(node));
  if (lacking !== undefined) {
    const { node, position } = lacking;
    throw new InputError(
      `--to: node ${node} does not answer, and was only at position ${position}: start it, or add --without ${node}, and it needs a newer backup if it comes back`,
    );
  }
  try {
    return await log.trim(to);
  } catch (error) {
    throw new StoreUnavailableError(
      `JetStream did not free all entries: ${messageOf(error)}; try again`,
    );
  }
}
