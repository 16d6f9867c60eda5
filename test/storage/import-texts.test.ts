/** Imports refuse texts that a store would change, with the line that has them. */
import { expect, it } from 'vitest';
import { STORABLE } from '../../compute/ingest/fields.js';
import type { ImportFormat } from '../../storage/import/formats.js';
import { importAll, type RawImportFlags, Scratch, SOL, TOKEN } from './import-helpers.js';

const scratch = new Scratch();
const BAD = ['a\0b', 'a\ud800'] as const;
/** A text of a CSV file cannot have half of a pair. */
const NUL = ['a\0b'] as const;

const TARDIS = 'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n';
const T_DEPTH = 'symbol,timestamp,first_update_id,last_update_id,side,update_type,price,qty,pu\n';
const MS = 1_700_000_000_000;
const update = (s: string) => ({ e: 'depthUpdate', E: MS, s, U: 1, u: 2, b: [['1', '1']], a: [] });
const token = (more: object) => ({
  chainId: 101,
  address: SOL,
  symbol: 'A',
  name: 'A',
  decimals: 9,
  ...more,
});

const CASES: readonly [ImportFormat, RawImportFlags, readonly string[], (bad: string) => string][] =
  [
    [
      'tardis-incremental-l2',
      TOKEN,
      NUL,
      (bad) => `${TARDIS}x,${bad},${MS}000,${MS}000,true,bid,1,1\n`,
    ],
    [
      'tardis-incremental-l2',
      TOKEN,
      NUL,
      (bad) => `${TARDIS}${bad},x,${MS}000,${MS}000,true,bid,1,1\n`,
    ],
    ['binance-stream', TOKEN, BAD, (bad) => `1 ${JSON.stringify(update(bad))}\n`],
    [
      'binance-t-depth',
      TOKEN,
      NUL,
      (bad) => `${T_DEPTH}${bad},${MS},1,2,b,set,1,1,1\n${bad},${MS},3,4,b,set,1,1,2\n`,
    ],
    ['solana-token-list', {}, BAD, (bad) => JSON.stringify({ tokens: [token({ symbol: bad })] })],
    ['solana-token-list', {}, BAD, (bad) => JSON.stringify({ tokens: [token({ logoURI: bad })] })],
    [
      'wormhole-csv',
      {},
      NUL,
      (bad) =>
        `source,symbol,name,logo,sourceAddress,sourceDecimals,ethAddress,ethDecimals\nsol,${bad},A,,${SOL},9,,\n`,
    ],
  ];

it.each(CASES)('%s %o', async (format, flags, bads, contents) => {
  for (const bad of bads) {
    const file = scratch.file('texts', contents(bad));
    await expect(importAll(format, [file], flags)).rejects.toThrow(STORABLE);
    await expect(importAll(format, [file], flags)).rejects.toThrow(file);
  }
});
