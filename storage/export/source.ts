/** What an export reads from a store, in bounded parts: operations of commands (storage/operations.ts). */
import { MAX_T_S } from '../../compute/ingest/fields.js';
import { CHECKSUM_BYTES } from '../../compute/holders/block-format.js';
import { noNames, type OwnerNames } from '../../compute/holders/owners.js';
import type { Market } from '../../compute/market.js';
import { type Coverage, SegmentGoneError, type TokenName } from '../contract.js';
import { byTier, type Directory, lastTime, overlapping } from '../depth/directory.js';
import type { Catalog } from '../depth/catalog.js';
import type { DepthReader } from '../depth/depth-reader.js';
import type { Directories } from '../depth/directories.js';
import type { Database } from '../duckdb/database.js';
import { InputError } from '../errors.js';
import { ObjectFaultError } from '../archive/objects.js';
import { readBlocks } from '../holders/holder-blocks.js';
import { readNamesFrom } from '../holders/owner-names.js';
import { identityOf } from '../keys/pepper.js';
import { readMeta } from '../meta.js';
import { uint32Of } from '../typed-arrays.js';
import { dayOf } from './layout.js';
import {
  type ExportTableName,
  type TablePart,
  tableParts,
  type TableRows,
  tableRows,
} from './table-columns.js';

/** Tokens in one reply. */
const TOKENS_AT_ONCE = 2000;
/** Segments whose blocks fit into one reply: one takes up to some 100 KiB, except for very large snapshots. */
export const BLOCKS_AT_ONCE = 32;

/** A token as exports list it. */
export interface ExportToken extends TokenName {
  tokenId: number;
  asset: string | null;
  coverage: Coverage;
  /** Whether its row has a price, which counts while it has no snapshot. */
  isPriced: boolean;
  /** Another text once the stored segments of its depth are others; null without depth. */
  stamp: string | null;
}

/** A mint with holder snapshots. */
export interface ExportHolderToken {
  address: string;
  /** Another text once its stored blocks are others. */
  stamp: string;
}

/** A block of holder snapshots. */
export interface ExportHolderBlock {
  blockId: number;
  /** Epoch seconds, ascending. */
  times: Uint32Array;
  /** The checksum at its start: other contents have another one. */
  checksum: string;
}

/** A window of a token's depth: `fromS <= t < toS`. */
export interface DirectoryRequest extends TokenName {
  fromS: number;
  toS: number;
  /** How many of its markets the caller knows. */
  knownMarkets: number;
}

export interface ExportDirectory {
  /** The segments that have snapshots in the window. */
  directory: Directory;
  /** Time of the first and the last snapshot of any tier, at any time; null without depth. */
  span: { firstT: number; lastT: number } | null;
  /** The token's markets after the known ones. */
  markets: readonly Market[];
}

export interface ExportSource {
  /** The next tokens with ids after `afterId`, ascending; none after the last one. */
  exportTokens(afterId: number): Promise<ExportToken[]>;
  /** @throws InputError if the store does not know the token */
  exportDirectory(request: DirectoryRequest): Promise<ExportDirectory>;
  /** The LZ4 blocks of at most BLOCKS_AT_ONCE segments, in order; null if one was replaced. @throws DamageError */
  exportBlocks(segmentIds: readonly number[]): Promise<Uint8Array[] | null>;
  /** The files of a table; see tableParts(). */
  exportTableParts(name: ExportTableName, fromS: number, toS: number): Promise<TablePart[]>;
  /** The next rows of such a file; see tableRows(). */
  exportTableRows(name: ExportTableName, dayS: number | null, after: number): Promise<TableRows>;
  /** The next mints with holder snapshots after `afterAddress`, ascending; none after the last one. */
  exportHolderTokens(afterAddress: string): Promise<ExportHolderToken[]>;
  /** A mint's blocks of holder snapshots, ascending in time, without overlap; none if it has none. */
  exportHolderBlocks(address: string): Promise<ExportHolderBlock[]>;
  /** The names of a mint's owners from `firstOwner` on, some at a time; none after the last one. @throws DamageError */
  exportHolderNames(address: string, firstOwner: number): Promise<OwnerNames>;
  /** One of these blocks; null if it was replaced. */
  exportHolderBlock(blockId: number): Promise<Uint8Array | null>;
  /** Which store it is, and where it stands among its commits. */
  exportPosition(): Promise<ExportPosition>;
  /** Days of the token's snapshots that commits after a position have revised or deleted; null if any may be. */
  exportRevised(token: TokenName, after: number): Promise<number[] | null>;
}

export interface ExportPosition {
  /** identityOf() */
  store: string;
  /** A position means the same only in the same history. */
  history: string;
  position: number;
}

interface Parts {
  database: Database;
  catalog: Catalog;
  directories: Directories;
  depth: DepthReader;
}

export class StoreExports implements ExportSource {
  constructor(private readonly parts: Parts) {}

  async exportTokens(afterId: number): Promise<ExportToken[]> {
    const { database } = this.parts;
    const rows = await database.rows(
      `SELECT token_id, chain, address, asset, coverage, price_usd IS NOT NULL, stamp
       FROM (SELECT * FROM tokens WHERE token_id > ? ORDER BY token_id LIMIT ${TOKENS_AT_ONCE})
       LEFT JOIN (SELECT token_id, count(*) || '-' || max(segment_id) || '-' || bit_xor(hash(segment_id)) AS stamp
                  FROM segments WHERE token_id > ? GROUP BY token_id) USING (token_id)
       ORDER BY token_id`,
      [afterId, afterId],
    );
    return rows.map(([tokenId, chain, address, asset, coverage, isPriced, stamp]) => {
      return { tokenId, chain, address, asset, coverage, isPriced, stamp } as ExportToken;
    });
  }

  async exportDirectory(request: DirectoryRequest): Promise<ExportDirectory> {
    const { catalog, directories } = this.parts;
    const { chain, address, fromS, toS, knownMarkets } = request;
    const token = catalog.token(chain, address);
    if (token === undefined) {
      throw new InputError(`the store does not know the token ${chain}:${address}`);
    }
    const whole = await directories.get(token.tokenId);
    const lastT = lastTime(whole);
    const firsts = Object.values(whole).flatMap((refs) => refs.slice(0, 1));
    const firstT = Math.min(...firsts.map(({ times }) => times[0]));
    return {
      directory: byTier((tier) => {
        const { from, to } = overlapping(whole[tier], fromS, toS - 1);
        return whole[tier].slice(from, to);
      }),
      span: lastT < 0 ? null : { firstT, lastT },
      // Read after the directory: a commit in between only appends markets.
      markets: this.parts.depth.markets(token.tokenId).slice(knownMarkets),
    };
  }

  exportTableParts(name: ExportTableName, fromS: number, toS: number): Promise<TablePart[]> {
    return tableParts(this.parts.database, name, fromS, toS);
  }

  exportTableRows(name: ExportTableName, dayS: number | null, after: number): Promise<TableRows> {
    return tableRows(this.parts.database, name, dayS, after);
  }

  async exportHolderTokens(afterAddress: string): Promise<ExportHolderToken[]> {
    const rows = await this.parts.database.rows(
      `SELECT token_address, count(*) || '-' || max(block_id) || '-' || bit_xor(hash(block_id))
       FROM (SELECT * FROM holder_tokens WHERE token_address > ? ORDER BY token_address LIMIT ${TOKENS_AT_ONCE})
       JOIN holder_blocks USING (holder_id) GROUP BY token_address ORDER BY token_address`,
      [afterAddress],
    );
    return rows.map(([address, stamp]) => ({ address, stamp }) as ExportHolderToken);
  }

  async exportHolderBlocks(address: string): Promise<ExportHolderBlock[]> {
    const rows = await this.parts.database.rows(
      `SELECT block_id, times, hex(data[1:${CHECKSUM_BYTES}])
       FROM holder_tokens JOIN holder_blocks USING (holder_id) JOIN holder_block_parts USING (block_id)
       WHERE token_address = ? AND part = 0`,
      [address],
    );
    const blocks = rows.map(([blockId, times, checksum]) => {
      return { blockId, times: uint32Of(times as Uint8Array), checksum } as ExportHolderBlock;
    });
    return blocks.sort((a, b) => a.times[0] - b.times[0]);
  }

  async exportHolderNames(address: string, firstOwner: number): Promise<OwnerNames> {
    const { database } = this.parts;
    const sql = 'SELECT holder_id FROM holder_tokens WHERE token_address = ?';
    const [row] = await database.rows(sql, [address]);
    return row === undefined ? noNames() : readNamesFrom(database, row[0] as number, firstOwner);
  }

  async exportHolderBlock(blockId: number): Promise<Uint8Array | null> {
    return (await readBlocks(this.parts.database, [blockId])).get(blockId) ?? null;
  }

  async exportPosition(): Promise<ExportPosition> {
    const store = identityOf(await readMeta(this.parts.database));
    const { commitHistory: history, position } = this.parts.depth;
    return { store, history, position };
  }

  async exportRevised({ chain, address }: TokenName, after: number): Promise<number[] | null> {
    const { catalog, depth } = this.parts;
    const token = catalog.token(chain, address);
    if (token === undefined || !depth.remembers(after)) return null;
    const view = await depth.view(token.tokenId);
    const days = new Set<number>();
    if (view.lastRevision <= after) return [];
    for (let fromS = 0; fromS < Infinity;) {
      const window = { after, upTo: view.position, fromS, toS: MAX_T_S + 1 };
      const revised = await view.revised(window);
      if (revised === null || revised.lastT !== null) return null;
      const { times, first, end, nextS } = revised;
      for (let i = first; i < end; i++) days.add(dayOf(times[i]));
      fromS = nextS;
    }
    return [...days];
  }

  async exportBlocks(segmentIds: readonly number[]): Promise<Uint8Array[] | null> {
    try {
      return await this.parts.depth.readSegments(segmentIds.slice(0, BLOCKS_AT_ONCE));
    } catch (error) {
      if (error instanceof SegmentGoneError) return null;
      // A command that asks through a server must tell what one day needs from an archive that does not answer.
      throw error instanceof ObjectFaultError ? new InputError(error.message) : error;
    }
  }
}
