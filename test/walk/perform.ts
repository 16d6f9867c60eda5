/** Performs operations in this process, or as words for the `fathom` command. */
import type { ComputePool } from '../../compute/pool.js';
import type { Removed } from '../../compute/segment/remove.js';
import { backupStore } from '../../storage/backup.js';
import { checkStore } from '../../storage/check/check.js';
import type { IssuedKey } from '../../storage/contract.js';
import { deleteSnapshots, pruneDepth, shrinkStore } from '../../storage/delete.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import type { FileReport } from '../../storage/ingest/prepared.js';
import type { UseStore } from '../../storage/operations.js';
import { chainOf } from './depth-rows.js';
import type { Operation } from './model.js';

/** Options of the keys that are created. */
export const KEY = { tier: 'premium' } as const;

/** An operation as a process receives it: only the harness knows its effect. */
export type Order<O extends Operation = Operation> = O extends Operation
  ? Omit<O, 'brings'>
  : never;

/** What operations report; the others report nothing. */
interface Reports {
  ingest: FileReport;
  prune: Removed;
  delete: Removed;
  create: IssuedKey;
  rotate: IssuedKey;
  backup: { position: number | null };
}
type Report = Partial<Reports>;

/**
 * Resolves when the command of the same name would report success.
 * @param dryRun whether an ingest, a prune or a deletion changes nothing
 * @throws Error as that command would fail
 */
export async function perform(
  operation: Order,
  directory: string,
  pool: ComputePool,
  useStore: UseStore,
  dryRun = false,
): Promise<Report> {
  const deleting = { directory, useStore, dryRun };
  switch (operation.kind) {
    case 'ingest': {
      const { dataset, file, merge } = operation;
      const request = { directory, dataset, files: [file], merge, pool, useStore, dryRun };
      for await (const report of ingestFiles(request)) return { ingest: report };
      return {};
    }
    case 'prune': {
      const { beforeS, token, shrinks } = operation;
      const name = { chain: chainOf(token), address: token };
      const removed = await pruneDepth({ ...deleting, beforeS, tier: null, token: name });
      if (shrinks) await shrinkStore(useStore);
      return { prune: removed };
    }
    case 'delete': {
      const { token, market, fromS, toS } = operation;
      const markets = market === null ? null : [market];
      const of = { kind: 'delete', chain: chainOf(token), address: token, tier: null } as const;
      const what = { ...of, fromS, toS, markets, needsAny: true };
      return { delete: await deleteSnapshots(deleting, what) };
    }
    case 'create':
      return {
        create: await useStore((store) => store.createKey({ ...KEY, name: operation.name })),
      };
    case 'revoke':
      await useStore((store) => store.revokeKey(operation.id));
      return {};
    case 'rotate':
      return { rotate: await useStore((store) => store.rotateKey(operation.id)) };
    case 'backup':
      return { backup: await backupStore({ directory, out: operation.out, useStore }) };
    case 'check': {
      const { damages } = await checkStore(directory);
      if (damages.length > 0) throw new Error(`damaged: ${JSON.stringify(damages.slice(0, 3))}`);
      return {};
    }
  }
}

const timeText = (s: number): string => new Date(s * 1000).toISOString();

/** The words of the `fathom` command for an operation. */
export function wordsOf(operation: Order, directory: string): string[] {
  const data = ['--data', directory];
  switch (operation.kind) {
    case 'ingest': {
      const { dataset, file, merge } = operation;
      return ['ingest', dataset, file, ...data, '--json', ...(merge ? ['--merge'] : [])];
    }
    case 'prune': {
      const { token, beforeS } = operation;
      const of = ['--token', `${chainOf(token)}:${token}`];
      return ['prune', '--before', timeText(beforeS), ...of, '--yes', ...data];
    }
    case 'delete': {
      const { token, market, fromS, toS } = operation;
      const span = ['--from', timeText(fromS), '--to', timeText(toS)];
      const of = ['--token', `${chainOf(token)}:${token}`, ...span];
      const only = market === null ? [] : ['--market', market];
      return ['delete', ...of, ...only, '--yes', ...data];
    }
    case 'create':
      return ['keys', 'create', '--tier', KEY.tier, '--name', operation.name, ...data];
    case 'revoke':
    case 'rotate':
      return ['keys', operation.kind, operation.id, ...data];
    case 'backup':
      return ['backup', '--out', operation.out, ...data];
    case 'check':
      return ['check', ...data];
  }
}
