/** Performs operations in this process, or as words for the `fathom` command. */
import type { ComputePool } from '../../compute/pool.js';
import { backupStore } from '../../storage/backup.js';
import { checkStore } from '../../storage/check/check.js';
import { deleteSnapshots, pruneDepth, shrinkStore } from '../../storage/delete.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import type { UseStore } from '../../storage/operations.js';
import { MARKET_SOURCE, type Operation } from './operations.js';

/** Options of the keys that are created. */
export const KEY = { tier: 'premium' } as const;

/** An operation as a process receives it: only the harness knows its effect. */
export type Order<O extends Operation = Operation> = O extends Operation
  ? Omit<O, 'brings'>
  : never;

/**
 * Resolves when the command of the same name would report success.
 * @throws Error as that command would fail
 */
export async function perform(
  operation: Order,
  directory: string,
  pool: ComputePool,
  useStore: UseStore,
): Promise<void> {
  const deleting = { directory, useStore, dryRun: false };
  switch (operation.kind) {
    case 'ingest': {
      const { dataset, file, merge = false } = operation;
      const request = { directory, dataset, files: [file], merge, pool, useStore };
      for await (const report of ingestFiles(request)) void report;
      return;
    }
    case 'prune': {
      const { beforeS, token, shrinks } = operation;
      const name = { chain: 'mainchain', address: token } as const;
      await pruneDepth({ ...deleting, beforeS, tier: null, token: name });
      if (shrinks) await shrinkStore(useStore);
      return;
    }
    case 'delete': {
      const { token, market } = operation;
      const all = {
        kind: 'delete',
        chain: 'mainchain',
        fromS: 0,
        toS: 2 ** 32 - 1,
        tier: null,
      } as const;
      const markets = [`${MARKET_SOURCE}/${market}`];
      await deleteSnapshots(deleting, { ...all, address: token, markets, needsAny: false });
      return;
    }
    case 'create':
      await useStore((store) => store.createKey({ ...KEY, name: operation.name }));
      return;
    case 'revoke':
      await useStore((store) => store.revokeKey(operation.id));
      return;
    case 'backup':
      await backupStore({ directory, out: operation.out, useStore });
      return;
    case 'check': {
      const { damages } = await checkStore(directory);
      if (damages.length > 0) throw new Error(`damaged: ${JSON.stringify(damages.slice(0, 3))}`);
    }
  }
}

/** The words of the `fathom` command for an operation. */
export function wordsOf(operation: Order, directory: string): string[] {
  const data = ['--data', directory];
  switch (operation.kind) {
    case 'ingest': {
      const { dataset, file, merge } = operation;
      return ['ingest', dataset, file, ...data, '--json', ...(merge === true ? ['--merge'] : [])];
    }
    case 'prune': {
      const { token, beforeS } = operation;
      const before = new Date(beforeS * 1000).toISOString();
      return ['prune', '--before', before, '--token', `mainchain:${token}`, '--yes', ...data];
    }
    case 'delete': {
      const { token, market } = operation;
      const of = ['--token', `mainchain:${token}`, '--market', `${MARKET_SOURCE}/${market}`];
      return ['delete', ...of, '--yes', ...data];
    }
    case 'create':
      return ['keys', 'create', '--tier', KEY.tier, '--name', operation.name, ...data];
    case 'revoke':
      return ['keys', 'revoke', operation.id, ...data];
    case 'backup':
      return ['backup', '--out', operation.out, ...data];
    case 'check':
      return ['check', ...data];
  }
}
