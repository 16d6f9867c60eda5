/** `fathom keys create`, `list`, `update`, `rotate`, `revoke` */
import { isoOf } from '../../../compute/time.js';
import {
  type IssuedKey,
  KEY_TIERS,
  type KeyRecord,
  type KeyTerms,
  type ListedKey,
} from '../../../storage/contract.js';
import { UsageError } from '../../../storage/errors.js';
import type { StoreOperations } from '../../../storage/operations.js';
import { isKeyId } from '../../../storage/keys/key-text.js';
import { systemClock } from '../../clock.js';
import { type LimitsDocument, limitsDocument, planOfKey, type Plans } from '../../limits/plans.js';
import { defineCommand } from '../command.js';
import { duration, type Flag, instant, JSON_OUTPUT, STORE_FLAGS, wholeNumber } from '../flags.js';
import { printJson, printLine, printTable, printNote } from '../output.js';
import { onNewStore, onStore } from '../runtime.js';
import { plansInEffect } from '../serve-options.js';
import { SERVE_ENVIRONMENT } from '../settings.js';

/** Maximum of `--rpm` and `--quota`. */
const MAX_LIMIT = 1_000_000_000;
const MAX_NAME_CHARS = 100;
const MAX_OVERLAP = '90d';
/** Longest validity that `--expires +TIME` gives. */
const MAX_VALIDITY = '3650d';
const EXPIRY_FORMS =
  'expected epoch seconds, RFC 3339 with a zone, a date, or a time from now such as +30d';

const COMMON = { ...STORE_FLAGS, json: JSON_OUTPUT };
/** Where the plans of `--tier` come from. */
const ENVIRONMENT = {
  FATHOM_PLANS: SERVE_ENVIRONMENT.FATHOM_PLANS,
  FATHOM_CONFIG: SERVE_ENVIRONMENT.FATHOM_CONFIG,
};

const TIER = {
  placeholder: 'T',
  meaning: "the key's plan; the setting plans can add others",
  values: KEY_TIERS,
  isOpen: true,
} as const satisfies Flag;
const NAME = {
  placeholder: 'NAME',
  meaning: 'a name for the key; commands accept it instead of the id if no other key has it',
  read: keyName,
} as const satisfies Flag;

const RPM = {
  placeholder: 'N',
  meaning:
    "requests a minute instead of the plan's limits, or unlimited; update also accepts default",
} as const satisfies Flag;
const QUOTA = {
  placeholder: 'N',
  meaning: 'requests a month, or unlimited; update also accepts default or none (unlimited)',
} as const satisfies Flag;
const EXPIRES = {
  placeholder: 'TIME',
  meaning:
    'when the key expires: a time, or a time from now such as +30d; update also accepts never',
} as const satisfies Flag;

export const create = defineCommand({
  about: 'Creates an API key and prints it on stdout. The key cannot be shown again.',
  flags: {
    tier: { ...TIER, needed: true },
    name: NAME,
    rpm: { ...RPM, default: "the plan's", read: limit },
    quota: { ...QUOTA, default: "the plan's", read: limit },
    expires: { ...EXPIRES, default: 'never', read: expiry },
    ...COMMON,
  },
  environment: ENVIRONMENT,
  examples: [
    'fathom keys create --tier premium --name alice --data data',
    'fathom keys create --tier enterprise --rpm unlimited --quota 5000000 --expires 2030-01-01 --json',
  ],
  run: async ({ tier, name, rpm, quota, expires, json, ...flags }) => {
    const request = {
      // Without one, the store names the plans, as for a plan that it does not have.
      tier: tier ?? '',
      name: name ?? null,
      requestsPerMinute: rpm ?? null,
      monthlyQuota: quota ?? null,
      expiresAtS: expires ?? null,
    };
    const createKey = async (store: StoreOperations) =>
      [await store.createKey(request), await store.listKeys()] as const;
    const [issued, keys] = await onNewStore(flags, createKey, { plans: plansInEffect() });
    const isTwin = (key: KeyRecord): boolean =>
      key.id !== issued.id && key.name === issued.name && key.revokedAtS === null;
    if (issued.name !== null && keys.some(isTwin)) {
      printNote(`warning: another key has the name ${issued.name}: change either by its id`);
    }
    printIssued(issued, json);
  },
});

export const list = defineCommand({
  about: 'Lists the keys with their limits, expiry and last use, without their texts.',
  flags: COMMON,
  environment: ENVIRONMENT,
  examples: ['fathom keys list --data data', 'fathom keys list --json'],
  run: async ({ json, ...flags }) => {
    const listKeys = async (store: StoreOperations) =>
      [await store.listKeys(), await store.plans()] as const;
    const [listed, plans] = await onStore(flags, listKeys, { plans: plansInEffect() });
    const keys = listed.map((key): KeyWithLimits => {
      const plan = planOfKey(plans as Plans, key);
      return { ...key, limits: plan && limitsDocument(plan) };
    });
    if (json) printJson(keys.map(jsonListed));
    else if (keys.length === 0) printNote('no keys');
    else printTable([HEADINGS, ...keys.map(rowOf)]);
  },
});

export const update = defineCommand({
  about: 'Changes the name, plan, limits or expiry of a key. Its text stays the same.',
  words: { key: {} },
  flags: {
    name: NAME,
    tier: TIER,
    rpm: { ...RPM, read: limitOrDefault },
    quota: { ...QUOTA, read: limitOrDefault },
    expires: { ...EXPIRES, read: expiryOrNever },
    ...COMMON,
  },
  environment: ENVIRONMENT,
  examples: [
    'fathom keys update alice --tier enterprise --rpm 300 --data data',
    'fathom keys update key_0ddfeb50b54c5711 --quota default --expires never',
  ],
  run: async ({ tier, name, rpm, quota, expires, json, ...flags }, { key }) => {
    const given = { tier, name, requestsPerMinute: rpm, monthlyQuota: quota, expiresAtS: expires };
    const changes = Object.fromEntries(
      Object.entries(given).filter(([, value]) => value !== undefined),
    ) as Partial<KeyTerms>;
    if (Object.keys(changes).length === 0) {
      throw new UsageError('expected at least one of --name, --tier, --rpm, --quota, --expires');
    }
    const updateKey = (store: StoreOperations) => store.updateKey(key, changes);
    printRecord(await onStore(flags, updateKey, { plans: plansInEffect() }), json);
  },
});

export const rotate = defineCommand({
  about:
    "Replaces a key's text and prints the new text, once, on stdout. The old text stops working at once, or after --overlap.",
  words: { key: {} },
  flags: {
    overlap: {
      placeholder: 'TIME',
      meaning: `how long both texts are valid, such as 24h; at most ${MAX_OVERLAP}`,
      default: '0',
      read: (text: string, from: string) => (text === '0' ? 0 : duration(text, from, MAX_OVERLAP)),
    },
    ...COMMON,
  },
  examples: [
    'fathom keys rotate key_0ddfeb50b54c5711',
    'fathom keys rotate alice --overlap 24h --data data --json',
  ],
  run: async ({ overlap = 0, json, ...flags }, { key }) =>
    printIssued(await onStore(flags, (store) => store.rotateKey(key, overlap)), json),
});

export const revoke = defineCommand({
  about: 'Revokes a key permanently.',
  words: { key: {} },
  flags: COMMON,
  examples: [
    'fathom keys revoke key_0ddfeb50b54c5711',
    'fathom keys revoke alice --data data --json',
  ],
  run: async ({ json, ...flags }, { key }) =>
    printRecord(await onStore(flags, (store) => store.revokeKey(key)), json),
});

function printIssued(issued: IssuedKey, json: boolean): void {
  if (json) {
    printJson({ ...jsonRecord(issued), key: issued.key });
    return;
  }
  const { earlierUntilS } = issued;
  const overlap =
    earlierUntilS === null ? '' : `\nThe old text is valid until ${isoOf(earlierUntilS)}.`;
  printNote(`${recordText(issued)}${overlap}\nThe key, shown this once:`);
  printLine(issued.key);
}

function printRecord(record: KeyRecord, json: boolean): void {
  if (json) printJson(jsonRecord(record));
  else printLine(recordText(record));
}

function jsonRecord(record: KeyRecord) {
  return {
    id: record.id,
    name: record.name,
    tier: record.tier,
    hint: record.hint,
    rpm: jsonLimit(record.requestsPerMinute),
    quota: jsonLimit(record.monthlyQuota),
    created_at: record.createdAtS,
    revoked_at: record.revokedAtS,
    expires_at: record.expiresAtS,
    old_text_until: record.earlierUntilS,
  };
}

function jsonListed(key: KeyWithLimits): object {
  return { ...jsonRecord(key), limits: key.limits, last_used_at: key.lastUsedS };
}

/** null: the plan's limit applies. */
function jsonLimit(value: number | null): number | 'unlimited' | null {
  return value === Infinity ? 'unlimited' : value;
}

/** Shown in place of the limits of a key whose plan is not in the settings. */
const UNKNOWN_PLAN = 'unknown plan';

/** `limits` is null if the key's plan is not in the settings. */
type KeyWithLimits = ListedKey & { limits: LimitsDocument | null };
/** Without `limits`: its plan was not looked up. */
type StatedKey = KeyRecord & { limits?: LimitsDocument | null };

const HEADINGS = [
  'ID',
  'PLAN',
  'KEY',
  'STATE',
  'A MINUTE',
  'A MONTH',
  'CREATED',
  'EXPIRES',
  'LAST USED',
  'NAME',
];

function rowOf(key: KeyWithLimits): string[] {
  return [
    key.id,
    key.tier,
    key.hint,
    stateOf(key),
    key.limits === null ? UNKNOWN_PLAN : minuteText(key.limits.minute),
    key.limits === null ? UNKNOWN_PLAN : limitText(key.limits.month),
    isoOf(key.createdAtS),
    timeText(key.expiresAtS, 'never'),
    timeText(key.lastUsedS, '-'),
    key.name ?? '-',
  ];
}

function stateOf({ revokedAtS, expiresAtS, limits }: StatedKey): string {
  if (revokedAtS !== null) return 'revoked';
  if (expiresAtS !== null && systemClock.nowS() >= expiresAtS) return 'expired';
  return limits === null ? 'refused' : 'valid';
}

/** `12, market-depth 60, dca-pressure 6, whale-get 60` */
function minuteText({ general, ...others }: LimitsDocument['minute']): string {
  const named = Object.entries(others).map(([bucket, limit]) => `${bucket} ${limitText(limit)}`);
  return [limitText(general), ...named].join(', ');
}

/** Enough for the lowest rate, 1 request a day: 0.00069 a minute. */
const LIMIT_DECIMALS = 5;

const limitText = (limit: number | null): string =>
  limit === null ? 'unlimited' : String(Number(limit.toFixed(LIMIT_DECIMALS)));

function timeText(atS: number | null, none: string): string {
  return atS === null ? none : isoOf(atS);
}

/** A key on one line. */
function recordText(record: KeyRecord): string {
  const state = stateOf(record);
  return [
    record.id,
    record.tier,
    record.hint,
    isoOf(record.createdAtS),
    record.name ?? '-',
    ...(record.expiresAtS === null ? [] : [`expires ${isoOf(record.expiresAtS)}`]),
    ...(state === 'valid' ? [] : [state]),
  ].join('  ');
}

function keyName(text: string, from: string): string {
  const isLine = !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
  if (text.trim() === '' || text.length > MAX_NAME_CHARS || !isLine) {
    throw new UsageError(`${from}: expected 1 to ${MAX_NAME_CHARS} characters on one line`);
  }
  if (isKeyId(text)) throw new UsageError(`${from}: expected a name, not the id of a key`);
  return text;
}

const UNLIMITED = 'unlimited';

function limit(text: string, from: string): number {
  return text === UNLIMITED ? Infinity : wholeNumber(text, from, 1, MAX_LIMIT, `, or ${UNLIMITED}`);
}

/** null: the plan's limit applies. */
function limitOrDefault(text: string, from: string): number | null {
  if (text === 'default') return null;
  if (text === UNLIMITED || (text === 'none' && from === '--quota')) return Infinity;
  const or = from === '--quota' ? 'default or none' : `default or ${UNLIMITED}`;
  return wholeNumber(text, from, 1, MAX_LIMIT, `, ${or}`);
}

function expiry(text: string, from: string): number {
  const nowS = systemClock.nowS();
  if (text.startsWith('+')) return Math.ceil(nowS + duration(text.slice(1), from, MAX_VALIDITY));
  const atS = Math.floor(instant(text, from, EXPIRY_FORMS));
  if (atS > nowS) return atS;
  throw new UsageError(
    `${from}: expected a time in the future, not ${text}; to end a key, revoke it`,
  );
}

/** null: never. */
function expiryOrNever(text: string, from: string): number | null {
  return text === 'never' ? null : expiry(text, from);
}
