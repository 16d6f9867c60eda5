/** Token lists (Solana's, Wormhole's) as rows of the dataset `tokens`. */
import { isFields, isStorable, MAX_DECIMALS, STORABLE } from '../../compute/ingest/fields.js';
import { canonicalAddress, type Chain, chainOfAddress } from '../../compute/market.js';
import { type CsvRecord, readCsv } from '../csv.js';
import { InputError } from '../errors.js';
import { JsonFields } from './fields.js';
import type { ImportReport } from './formats.js';
import { readJsonObject } from './json-documents.js';
import { excerpt } from './refusals.js';

const MAINNET_CHAIN_ID = 101;
const CONTRACT = /0x[0-9a-f]{40}(?![0-9a-z])/i;

/** Tokens that one import of lists keeps until the last file is read. */
const MAX_LIST_TOKENS = 2_000_000;

/** Wormhole's names of the two chains. */
const LEG_CHAINS = { sol: 'mainchain', eth: 'evmchain' } as const;
type LegChain = keyof typeof LEG_CHAINS;

/** One address of an asset, as in a list. */
interface TokenLeg {
  address: string;
  symbol: string | null;
  name: string | null;
  icon: string | null;
  /** Null if the list gives only those of the other leg. */
  decimals: number | null;
}

interface HeldLeg extends TokenLeg {
  chain: Chain;
  asset: string | null;
}

/** The columns of an address and its decimals. */
interface LegColumns {
  address: string;
  decimals: string;
}

/**
 * Solana token lists as token rows: every mainnet mint. If `extensions.address` or the end of
 * `extensions.assetContract` is a `0x` contract, the contract becomes the asset's evmchain leg, with the texts of its
 * first mint and without decimals, which may differ.
 */
export async function* importSolanaTokenList(
  files: readonly string[],
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  const legs = new TokenLegs(report);
  for (const path of files) {
    const list = new JsonFields(path, await readJsonObject(path));
    list.list('tokens').forEach((token, i) => {
      report.messages++;
      if (!isFields(token)) throw list.fault(`tokens[${i}]`, 'expected an object');
      addEntry(new JsonFields(`${path}:tokens[${i}]`, token), legs, report);
    });
  }
  yield* legs.rows();
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

/**
 * The Solana mint and the Ethereum contract of each row of Wormhole token lists as token rows. `by_source` has one row
 * per asset (`source` + `sourceAddress`, and an address column for each other chain), `by_dest` one row per pair of
 * chains (`dest` + `address`, `origin` + `sourceAddress`).
 */
export async function* importWormholeCsv(
  files: readonly string[],
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  const legs = new TokenLegs(report);
  for (const path of files) {
    for await (const record of readCsv(path)) {
      if (!record.header.includes('source') && !record.header.includes('dest')) {
        const found = excerpt(record.header.join(','));
        throw new InputError(
          `${path}:1: this is not a Wormhole list: expected a column source or dest, found '${found}'`,
        );
      }
      report.messages++;
      const row = new WormholeRow(`${path}:${record.line}`, record);
      const [mint, contract] = [row.leg('sol'), row.leg('eth')];
      legs.add(row.where, mint, contract);
      if (mint === null && contract === null) {
        const reason = 'neither a Solana mint nor an Ethereum contract';
        report.leftOut.add({ where: row.where, what: row.field('symbol'), reason });
      }
    }
  }
  yield* legs.rows();
}

class WormholeRow {
  constructor(
    readonly where: string,
    private readonly record: CsvRecord & { header: readonly string[] },
  ) {}

  leg(chain: LegChain): TokenLeg | null {
    const columns = this.columnsOf(chain);
    const address = columns === null ? '' : this.field(columns.address);
    if (columns === null || address === '') return null;
    if (chainOfAddress(address) !== LEG_CHAINS[chain]) {
      throw new InputError(`${this.where}: ${columns.address}: expected an address of '${chain}'`);
    }
    return {
      address: canonicalAddress(address),
      symbol: this.field('symbol') || null,
      name: this.field('name') || null,
      icon: this.field('logo') || null,
      decimals: this.decimals(columns.decimals),
    };
  }

  text(column: string): string {
    const text = this.field(column);
    if (text === '') throw new InputError(`${this.where}: ${column}: expected a text`);
    return text;
  }

  private columnsOf(chain: LegChain): LegColumns | null {
    const source = { address: 'sourceAddress', decimals: 'sourceDecimals' };
    if (this.has('dest')) {
      if (this.text('dest') === chain) return { address: 'address', decimals: 'decimals' };
      return this.text('origin') === chain ? source : null;
    }
    if (this.text('source') === chain) return source;
    return { address: `${chain}Address`, decimals: `${chain}Decimals` };
  }

  /** Numeric columns contain numbers like `9.0`. */
  private decimals(column: string): number | null {
    const text = this.field(column);
    if (text === '') return null;
    const value = /^[0-9]{1,3}(\.0*)?$/.test(text) ? Number(text) : NaN;
    if (value <= MAX_DECIMALS) return value;
    throw new InputError(`${this.where}: ${column}: expected a whole number, found '${text}'`);
  }

  private has(column: string): boolean {
    return this.record.header.includes(column);
  }

  field(column: string): string {
    const at = this.record.header.indexOf(column);
    if (at < 0) throw new InputError(`${this.where}: ${column}: the header has no such column`);
    const text = this.record.fields[at].trim();
    if (isStorable(text)) return text;
    throw new InputError(`${this.where}: ${column}: ${STORABLE}`);
  }
}

/**
 * The tokens of lists, each address once with the texts of its first entry. A mint and a contract linked by an entry
 * become legs of one asset. An asset has one leg per chain: the first link counts, later ones are reported.
 */
class TokenLegs {
  private readonly byAddress = new Map<string, HeldLeg>();

  constructor(private readonly report: ImportReport) {}

  /** Adds an entry's mint and contract (in lower case), and links them if it has both. */
  add(where: string, mint: TokenLeg | null, contract: TokenLeg | null): void {
    const main = mint === null ? null : this.hold(where, 'mainchain', mint);
    const evm = contract === null ? null : this.hold(where, 'evmchain', contract);
    if (main === null || evm === null) return;
    // The name contains both addresses, so that no other list can add a third leg.
    const asset = `${main.address}/${evm.address}`;
    const linked = [main, evm].find((leg) => leg.asset !== null && leg.asset !== asset);
    if (linked !== undefined) {
      const other = linked === main ? evm : main;
      const reason = `${linked.address} has another leg on ${other.chain} already: not linked`;
      this.report.leftOut.add({ where, what: other.address, reason });
      return;
    }
    main.asset = asset;
    evm.asset = asset;
  }

  /** Rows of the dataset `tokens`, in the order of first mention. */
  *rows(): Generator<object, void, undefined> {
    for (const { chain, address, symbol, name, icon, decimals, asset } of this.byAddress.values()) {
      yield { chain, address, symbol, name, icon, decimals, asset };
    }
  }

  private hold(where: string, chain: Chain, leg: TokenLeg): HeldLeg {
    let held = this.byAddress.get(leg.address);
    if (held === undefined) {
      if (this.byAddress.size >= MAX_LIST_TOKENS) {
        throw new InputError(`${where}: more than ${MAX_LIST_TOKENS} tokens in one import`);
      }
      held = { ...leg, chain, asset: null };
      this.byAddress.set(leg.address, held);
    }
    held.decimals ??= leg.decimals;
    return held;
  }
}
