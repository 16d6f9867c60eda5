/** `fathom usage` */
import { dateOfDigits } from '../../../compute/time.js';
import type { KeyDayUsage, ListedKey } from '../../../storage/contract.js';
import { UsageError } from '../../../storage/errors.js';
import type { StoreOperations } from '../../../storage/operations.js';
import { systemClock } from '../../clock.js';
import { csvField } from '../../download/formats.js';
import { defineCommand } from '../command.js';
import { JSON_OUTPUT, STORE_FLAGS } from '../flags.js';
import { count, counted, printJson, printLine, printTable, printNote } from '../output.js';
import { onStore } from '../runtime.js';

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;

export const command = defineCommand({
  about: 'Prints the calls charged to every key in a UTC month, by day and endpoint.',
  flags: {
    month: {
      placeholder: 'YYYY-MM',
      meaning: 'the month',
      default: 'the current one',
      read: monthOf,
    },
    csv: { meaning: 'prints CSV on stdout' },
    json: JSON_OUTPUT,
    ...STORE_FLAGS,
  },
  examples: ['fathom usage --data data', 'fathom usage --month 2026-10 --csv > usage.csv'],
  run: async ({ month = currentMonth(), csv, json, ...flags }) => {
    if (csv && json) throw new UsageError('--csv: cannot be combined with --json');
    const { keys, usage } = await onStore(flags, (store) => usageOf(store, month));
    if (json) printJson(documentOf(month, keys, usage));
    else if (csv) printCsv(keys, usage);
    else printRows(month, keys, usage);
  },
});

/** @returns a number such as 202611 */
function monthOf(text: string, from: string): number {
  const [, year, month] = MONTH.exec(text) ?? [];
  if (month !== undefined) return Number(year) * 100 + Number(month);
  throw new UsageError(`${from}: expected a month such as 2026-11, not ${text}`);
}

function currentMonth(): number {
  const now = new Date(systemClock.nowS() * 1000);
  return now.getUTCFullYear() * 100 + now.getUTCMonth() + 1;
}

type KnownKeys = ReadonlyMap<string, ListedKey>;

async function usageOf(
  store: StoreOperations,
  month: number,
): Promise<{ keys: KnownKeys; usage: KeyDayUsage[] }> {
  const keys = new Map((await store.listKeys()).map((key) => [key.id, key]));
  const usage: KeyDayUsage[] = [];
  for (;;) {
    const some = await store.monthUsage(month, usage.at(-1)?.keyId ?? '');
    if (some.length === 0) return { keys, usage };
    for (const one of some) usage.push(one);
  }
}

function documentOf(month: number, keys: KnownKeys, usage: readonly KeyDayUsage[]): object {
  const byKey = new Map<string, KeyDayUsage[]>([...keys.keys()].map((keyId) => [keyId, []]));
  for (const one of usage) {
    if (!byKey.has(one.keyId)) byKey.set(one.keyId, []);
    byKey.get(one.keyId)?.push(one);
  }
  return {
    month: dateOfDigits(month),
    keys: [...byKey].map(([id, calls]) => ({
      id,
      name: keys.get(id)?.name ?? null,
      tier: keys.get(id)?.tier ?? null,
      calls: sum(calls),
      days: calls.map(({ day, endpoint, calls }) => ({ date: dateOfDigits(day), endpoint, calls })),
    })),
  };
}

function printCsv(keys: KnownKeys, usage: readonly KeyDayUsage[]): void {
  printLine('key_id,name,tier,date,endpoint,calls');
  for (const { keyId, day, endpoint, calls } of usage) {
    const { name = null, tier = null } = keys.get(keyId) ?? {};
    const fields = [keyId, name, tier, dateOfDigits(day), endpoint, String(calls)];
    printLine(fields.map(csvField).join(','));
  }
}

function printRows(month: number, keys: KnownKeys, usage: readonly KeyDayUsage[]): void {
  if (usage.length > 0) {
    printTable([
      ['KEY', 'NAME', 'DATE', 'CALLS', 'ENDPOINT'],
      ...usage.map(({ keyId, day, endpoint, calls }) => [
        keyId,
        keys.get(keyId)?.name ?? '-',
        dateOfDigits(day),
        count(calls),
        endpoint,
      ]),
    ]);
  }
  const users = new Set(usage.map(({ keyId }) => keyId)).size;
  printNote(`${dateOfDigits(month)}: ${counted(sum(usage), 'call')} of ${counted(users, 'key')}`);
}

const sum = (usage: readonly { calls: number }[]): number =>
  usage.reduce((total, { calls }) => total + calls, 0);
