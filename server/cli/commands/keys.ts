/** `fathom keys create|list|rotate|revoke` */
import {
  type IssuedKey,
  KEY_TIERS,
  type KeyRecord,
  type KeyTier,
} from '../../../storage/contract.js';
import { UsageError } from '../../../storage/errors.js';
import { readFlags, wholeNumber } from '../flags.js';
import { printJson, printLine, tell } from '../output.js';
import { onStore } from '../runtime.js';

const KEYS_USAGE = `fathom keys create --tier premium|enterprise [--name N] [--rpm N|unlimited] [--quota N|unlimited] [--data DIR] [--json]
fathom keys list|rotate ID|revoke ID [--data DIR] [--json]`;
export const command = { usage: KEYS_USAGE, run: keys };

/** Maximum of `--rpm` and `--quota`. */
const MAX_LIMIT = 1_000_000_000;
const MAX_NAME_CHARS = 100;

/** @throws UsageError | InputError */
export async function keys(words: readonly string[]): Promise<void> {
  const [action, ...others] = words;
  switch (action) {
    case 'create':
      return createKey(others);
    case 'list':
      return listKeys(others);
    case 'rotate':
      return rotateKey(others);
    case 'revoke':
      return revokeKey(others);
    default:
      throw new UsageError(
        `keys: expected create, list, rotate or revoke${action === undefined ? '' : `, not ${action}`}`,
      );
  }
}

const COMMON = { data: 'text', json: 'switch' } as const;

async function createKey(words: readonly string[]): Promise<void> {
  const { flags, rest } = readFlags(words, {
    ...COMMON,
    tier: 'text',
    name: 'text',
    rpm: 'text',
    quota: 'text',
  });
  if (rest.length > 0) throw new UsageError(`keys create: unexpected ${rest[0]}`);
  const request = {
    tier: keyTier(flags.tier),
    name: keyName(flags.name),
    requestsPerMinute: limit(flags.rpm, '--rpm'),
    monthlyQuota: limit(flags.quota, '--quota'),
  };
  const issued = await onStore(flags.data, (store) => store.createKey(request));
  printIssued(issued, flags.json);
}

async function listKeys(words: readonly string[]): Promise<void> {
  const { flags, rest } = readFlags(words, COMMON);
  if (rest.length > 0) throw new UsageError(`keys list: unexpected ${rest[0]}`);
  const records = await onStore(flags.data, (store) => store.listKeys());
  if (flags.json) {
    printJson(records.map(jsonRecord));
    return;
  }
  for (const record of records) printLine(recordText(record));
  if (records.length === 0) tell('no keys');
}

async function rotateKey(words: readonly string[]): Promise<void> {
  const { flags, rest } = readFlags(words, COMMON);
  const id = onlyId(rest, 'rotate');
  printIssued(await onStore(flags.data, (store) => store.rotateKey(id)), flags.json);
}

async function revokeKey(words: readonly string[]): Promise<void> {
  const { flags, rest } = readFlags(words, COMMON);
  const id = onlyId(rest, 'revoke');
  const record = await onStore(flags.data, (store) => store.revokeKey(id));
  if (flags.json) printJson(jsonRecord(record));
  else printLine(recordText(record));
}

function printIssued(issued: IssuedKey, json: boolean): void {
  if (json) {
    printJson({ ...jsonRecord(issued), key: issued.key });
    return;
  }
  tell(`${recordText(issued)}\nThe key, shown this once:`);
  printLine(issued.key);
}

function jsonRecord(record: KeyRecord): object {
  return {
    id: record.id,
    name: record.name,
    tier: record.tier,
    hint: record.hint,
    rpm: jsonLimit(record.requestsPerMinute),
    quota: jsonLimit(record.monthlyQuota),
    created_at: record.createdAtS,
    revoked_at: record.revokedAtS,
  };
}

/** null: the plan's limit applies. */
function jsonLimit(value: number | null): number | 'unlimited' | null {
  return value === Infinity ? 'unlimited' : value;
}

function recordText(record: KeyRecord): string {
  const made = new Date(record.createdAtS * 1000).toISOString();
  const state = record.revokedAtS === null ? '' : '  revoked';
  return `${record.id}  ${record.tier}  ${record.hint}  ${made}  ${record.name ?? '-'}${state}`;
}

function onlyId(rest: readonly string[], action: string): string {
  if (rest.length !== 1) throw new UsageError(`keys ${action}: expected one ID`);
  return rest[0];
}

function keyTier(text: string | undefined): KeyTier {
  const tier = KEY_TIERS.find((known) => known === text);
  if (tier === undefined) throw new UsageError(`--tier: expected ${KEY_TIERS.join(' or ')}`);
  return tier;
}

function keyName(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (text === '' || text.length > MAX_NAME_CHARS) {
    throw new UsageError(`--name: expected 1 to ${MAX_NAME_CHARS} characters`);
  }
  return text;
}

function limit(text: string | undefined, from: string): number | null {
  if (text === undefined) return null;
  return text === 'unlimited' ? Infinity : wholeNumber(text, from, 1, MAX_LIMIT);
}
