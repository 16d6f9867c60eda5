/** `fathom keys create`, `list`, `rotate`, `revoke` */
import { type IssuedKey, KEY_TIERS, type KeyRecord } from '../../../storage/contract.js';
import { UsageError } from '../../../storage/errors.js';
import { defineCommand } from '../command.js';
import { JSON_OUTPUT, STORE_FLAGS, wholeNumber } from '../flags.js';
import { printJson, printLine, tell } from '../output.js';
import { onNewStore, onStore } from '../runtime.js';

/** Maximum of `--rpm` and `--quota`. */
const MAX_LIMIT = 1_000_000_000;
const MAX_NAME_CHARS = 100;

const COMMON = { ...STORE_FLAGS, json: JSON_OUTPUT };

export const create = defineCommand({
  about: 'Creates an API key and prints it on stdout. The key cannot be shown again.',
  words: {},
  flags: {
    tier: {
      kind: 'text',
      placeholder: 'T',
      meaning: "the key's plan",
      needed: true,
      values: KEY_TIERS,
    },
    name: {
      kind: 'text',
      placeholder: 'NAME',
      meaning: 'a name to recognise it by',
      read: keyName,
    },
    rpm: {
      kind: 'text',
      placeholder: 'N',
      meaning: "requests a minute, or unlimited, in place of the plan's figures",
      default: "the plan's",
      read: limit,
    },
    quota: {
      kind: 'text',
      placeholder: 'N',
      meaning: 'requests a month, or unlimited',
      default: "the plan's",
      read: limit,
    },
    ...COMMON,
  },
  examples: [
    'fathom keys create --tier premium --name alice --data data',
    'fathom keys create --tier enterprise --rpm unlimited --quota 5000000 --json',
  ],
  run: async ({
    tier,
    name = null,
    rpm = null,
    quota = null,
    data,
    json,
    'accept-damaged-log': accept,
  }) => {
    const request = { tier, name, requestsPerMinute: rpm, monthlyQuota: quota };
    printIssued(await onNewStore(data, (store) => store.createKey(request), accept), json);
  },
});

export const list = defineCommand({
  about: 'Lists the keys, without their texts.',
  words: {},
  flags: COMMON,
  examples: ['fathom keys list --data data', 'fathom keys list --json'],
  run: async ({ data, json, 'accept-damaged-log': accept }) => {
    const records = await onStore(data, (store) => store.listKeys(), accept);
    if (json) {
      printJson(records.map(jsonRecord));
      return;
    }
    for (const record of records) printLine(recordText(record));
    if (records.length === 0) tell('no keys');
  },
});

export const rotate = defineCommand({
  about:
    'Gives a key a new text and prints it on stdout. The text cannot be shown again, and the old one stops working.',
  words: { id: {} },
  flags: COMMON,
  examples: [
    'fathom keys rotate key_0ddfeb50b54c5711',
    'fathom keys rotate key_0ddfeb50b54c5711 --data data --json',
  ],
  run: async ({ data, json, 'accept-damaged-log': accept }, { id }) =>
    printIssued(await onStore(data, (store) => store.rotateKey(id), accept), json),
});

export const revoke = defineCommand({
  about: 'Revokes a key permanently.',
  words: { id: {} },
  flags: COMMON,
  examples: [
    'fathom keys revoke key_0ddfeb50b54c5711',
    'fathom keys revoke key_0ddfeb50b54c5711 --data data --json',
  ],
  run: async ({ data, json, 'accept-damaged-log': accept }, { id }) => {
    const record = await onStore(data, (store) => store.revokeKey(id), accept);
    if (json) printJson(jsonRecord(record));
    else printLine(recordText(record));
  },
});

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

function keyName(text: string, from: string): string {
  if (text !== '' && text.length <= MAX_NAME_CHARS) return text;
  throw new UsageError(`${from}: expected 1 to ${MAX_NAME_CHARS} characters`);
}

function limit(text: string, from: string): number {
  const unlimited = 'unlimited';
  return text === unlimited ? Infinity : wholeNumber(text, from, 1, MAX_LIMIT, `, or ${unlimited}`);
}
