/** What operators ask of a cluster: how its nodes stand, and to free what they need no longer. */
import { Packr, Unpackr } from 'msgpackr';
import { InputError, StoreUnavailableError } from '../errors.js';
import { unpackEntry } from './entry.js';
import type { JetStreamLog, LogState } from './jetstream.js';

export const STATUS_TOPIC = 'status';
/** How long nodes are waited for. */
const ANSWER_MS = 1000;
const CONNECT_MS = 5000;

export interface NodeStatus {
  node: string;
  version: string;
  position: number;
  /** null: not known. */
  lagS: number | null;
  /** Why it follows the log no longer. */
  stopped: string | null;
  /** Settings in which the log differs from what it serves with. */
  otherSettings: readonly string[];
}

export interface ClusterStatus {
  log: LogState;
  /** Nodes that answered, by name. */
  nodes: NodeStatus[];
}

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false });

export const packStatus = (status: NodeStatus): Uint8Array => packr.pack(status);

/** @throws StoreUnavailableError if JetStream does not answer | InputError if there is no log */
export async function clusterStatus(log: JetStreamLog): Promise<ClusterStatus> {
  await log.connected(CONNECT_MS).catch(() => {
    throw new StoreUnavailableError(
      `JetStream does not answer within ${CONNECT_MS / 1000} s${log.reason}`,
    );
  });
  const state = await log.state();
  if (state === null) throw new InputError('there is no log: no node has made one yet');
  const answers = await log.ask(STATUS_TOPIC, ANSWER_MS);
  const nodes = answers.map((answer) => unpackr.unpack(answer) as NodeStatus);
  return { log: state, nodes: nodes.sort((a, b) => (a.node < b.node ? -1 : 1)) };
}

/**
 * Removes the entries up to a position, and the bundles beside them.
 * @returns how many
 * @throws InputError if a node that answers, or the log, has not come so far
 */
export async function trimLog(log: JetStreamLog, to: number): Promise<number> {
  const { log: state, nodes } = await clusterStatus(log);
  if (to > state.last) throw new InputError(`--to: the log ends at position ${state.last}`);
  const behind = nodes.find(({ position }) => position < to);
  if (behind !== undefined) {
    throw new InputError(`--to: node ${behind.node} has come to position ${behind.position} only`);
  }
  for await (const { data } of log.largeEntries(state.first, to)) {
    const entry = unpackEntry(data);
    if (entry.kind === 'large-bundle') await log.deleteObject(entry.name);
  }
  return log.trim(to);
}
