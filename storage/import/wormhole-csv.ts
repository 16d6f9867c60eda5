import { MAX_DECIMALS } from '../../compute/ingest/limits.js';
import { canonicalAddress, chainOfAddress } from '../../compute/market.js';
import { readCsv, type CsvRecord } from '../csv.js';
import { InputError } from '../errors.js';
import type { ImportReport } from './report.js';
import { TokenLegs, type TokenLeg } from './token-legs.js';

/** Wormhole's names of the chains whose addresses are the two legs of an asset. */
const LEG_CHAINS = { sol: 'mainchain', eth: 'evmchain' } as const;
type LegChain = keyof typeof LEG_CHAINS;

/**
 * Wormhole token lists as token rows. `by_source` has a row an asset (`source` + `sourceAddress`,
 * and an address column for each other chain), `by_dest` one a pair of chains (`dest` + `address`,
 * `origin` + `sourceAddress`). Of each row the Solana mint and the Ethereum contract are taken.
 */
export async function* importWormholeCsv(
  files: readonly string[],
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  const legs = new TokenLegs(report);
  for (const path of files) {
    for await (const record of readCsv(path)) {
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

/** Where a row names an address and its decimals. */
interface LegColumns {
  address: string;
  decimals: string;
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

  /** Numeric columns read `9.0`. */
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
    return this.record.fields[at].trim();
  }
}
