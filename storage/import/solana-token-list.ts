import { MAX_DECIMALS } from '../../compute/ingest/limits.js';
import { canonicalAddress, chainOfAddress } from '../../compute/market.js';
import { InputError } from '../errors.js';
import { readBytes } from '../lines.js';
import { JsonFields, type JsonObject } from './json.js';
import type { ImportReport } from './report.js';
import { TokenLegs } from './token-legs.js';

/** A list is one JSON document; the whole mainnet list has 6 MB. */
const MAX_LIST_BYTES = 256 * 1024 * 1024;
const MAINNET_CHAIN_ID = 101;
const CONTRACT = /0x[0-9a-fA-F]{40}(?![0-9a-zA-Z])/;

/**
 * Solana token lists as token rows: every mainnet mint, and, where `extensions.address` or the end
 * of `extensions.assetContract` is a `0x` contract, that contract as the asset's evmchain leg (with
 * the words of its first mint and without decimals: bridged ones differ).
 */
export async function* importSolanaTokenList(
  files: readonly string[],
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  const legs = new TokenLegs(report);
  for (const path of files) {
    const list = new JsonFields(path, await readDocument(path));
    list.list('tokens').forEach((token, i) => {
      report.messages++;
      addEntry(new JsonFields(`${path}:tokens[${i}]`, asObject(token, path, i)), legs, report);
    });
  }
  yield* legs.rows();
}

async function readDocument(path: string): Promise<JsonObject> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of readBytes(path)) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_LIST_BYTES) {
      const limit = `${MAX_LIST_BYTES / 1024 / 1024} MiB`;
      throw new InputError(`${path}: the list is larger than ${limit}`);
    }
  }
  let list: unknown;
  try {
    list = JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    throw new InputError(`${path}: expected a JSON document`);
  }
  if (typeof list === 'object' && list !== null) return list as JsonObject;
  throw new InputError(`${path}: expected a JSON object`);
}

function asObject(token: unknown, path: string, i: number): JsonObject {
  if (typeof token === 'object' && token !== null) return token as JsonObject;
  throw new InputError(`${path}: tokens[${i}]: expected an object`);
}

function addEntry(entry: JsonFields, legs: TokenLegs, report: ImportReport): void {
  const address = entry.text('address');
  if (entry.object.chainId !== MAINNET_CHAIN_ID) {
    const reason = `not on Solana's mainnet (chainId ${MAINNET_CHAIN_ID})`;
    report.leftOut.add({ where: entry.where, what: address, reason });
    return;
  }
  if (chainOfAddress(address) !== 'mainchain') {
    throw entry.fault('address', 'expected a base58 mint');
  }
  const words = {
    symbol: entry.textOrNull('symbol'),
    name: entry.textOrNull('name'),
    icon: entry.textOrNull('logoURI'),
  };
  const decimals = entry.integer('decimals', 0, MAX_DECIMALS);
  const contract = contractOf(entry);
  legs.add(
    entry.where,
    { address, ...words, decimals },
    contract === null ? null : { address: contract, ...words, decimals: null },
  );
}

function contractOf(entry: JsonFields): string | null {
  if (!entry.has('extensions')) return null;
  const { address, assetContract } = entry.child('extensions').object;
  for (const text of [address, assetContract]) {
    const match = typeof text === 'string' ? CONTRACT.exec(text) : null;
    if (match !== null) return canonicalAddress(match[0]);
  }
  return null;
}
