/** No text that a store would change is stored: NUL characters and halves of surrogate pairs, in any field. */
import { describe, expect, it } from 'vitest';
import { STORABLE } from '../../compute/ingest/fields.js';
import { FIELDS } from '../../storage/ingest/fields.js';
import { type Dataset, DATASETS } from '../../storage/ingest/datasets.js';
import { FLAT_ROWS } from '../support/flat.js';
import { cells, csv, lines, MINT, readJson, snapshot, StoreScratch } from '../support/ingest.js';
import { type Json, writeRowsArrow } from '../support/tables.js';

const T = 1_794_000_000;
const scratch = new StoreScratch();

/** A sound row of each flat dataset. */
const ROWS: Readonly<Record<Exclude<Dataset, 'snapshots'>, Json>> = {
  ...Object.fromEntries(Object.entries(FLAT_ROWS).map(([name, row]) => [name, row()])),
  tokens: { chain: 'mainchain', address: MINT, symbol: 'A', name: 'A', icon: 'i', asset: 'a' },
  cells: { ...cells(T)[0], tier: 'raw', type: 'cex_spot', market_address: 'Pool' },
  levels: {
    chain: 'mainchain',
    address: MINT,
    t: T,
    tier: 'raw',
    price_usd: 1,
    source: 'Venue',
    exchange_type: 'CEX',
    type: 'cex_spot',
    market_address: 'Pool',
    pair: 'A/B',
    side: 'bid',
    price: 1,
    size: 1,
  },
  holders: { token_address: MINT, t: T, owner: 'owner', balance: 5 },
} as unknown as Record<Exclude<Dataset, 'snapshots'>, Json>;

const FLAT = DATASETS.filter((dataset) => dataset !== 'snapshots');
/** Fields whose texts are of a kind of their own, and refused as such. */
const OWN_KINDS = ['chain', 'address', 'token_address', 'token_x_mint', 'token_y_mint', 'owner'];

describe.each(FLAT)('rows of %s', (dataset) => {
  const row = ROWS[dataset];
  const texts = FIELDS[dataset].filter(({ kind }) => kind === 'text');

  it('are refused for them in each text field and format', async () => {
    expect(texts.length).toBeGreaterThan(0);
    for (const { name, values } of texts) {
      const isFree = values === undefined && !OWN_KINDS.includes(name);
      const forms: string[] = [];
      for (const bad of ['a\0b', 'a\ud800', '\udc00a']) {
        forms.push(scratch.file('.ndjson', lines([{ ...row, [name]: bad }])));
      }
      const broken = [{ ...row, [name]: 'a\0b' }];
      forms.push(scratch.file('.csv', csv(broken)));
      const arrow = scratch.file('.arrow', '');
      writeRowsArrow(arrow, broken, { form: 'file', dictionary: true });
      const sound = scratch.file('.ndjson', lines([{ ...row, [name]: 'a' }]));
      const nul = `SELECT * REPLACE (concat('a', chr(0), 'b') AS "${name}") FROM ${readJson(sound)}`;
      forms.push(arrow, await scratch.parquet(nul));
      for (const file of forms) {
        const [fault] = await scratch.refuses(dataset, file);
        expect([file, name, fault]).toEqual([
          file,
          name,
          isFree ? expect.stringContaining(`: ${STORABLE}`) : expect.stringContaining(`${name}: `),
        ]);
      }
    }
  });

  it('keep whole surrogate pairs', async () => {
    for (const { name, values } of texts) {
      if (values !== undefined || OWN_KINDS.includes(name)) continue;
      const file = scratch.file('.ndjson', lines([{ ...row, [name]: 'aé😀' }]));
      expect(await scratch.ingest(dataset, file)).toMatchObject([{ rows: 1 }]);
    }
  });
});

it('markets of snapshots are refused for them', async () => {
  for (const bad of ['a\0b', 'a\ud800', '\udc00a']) {
    for (const name of ['source', 'address', 'pair']) {
      const market = { source: 'Venue', exchange_type: 'CEX', pair: 'A/B', cells: [[0, 5, 0]] };
      const row = snapshot(T, [], { markets: [{ ...market, [name]: bad }] });
      const file = scratch.file('.ndjson', lines([row]));
      const expected = [`1: markets[0].${name}: ${STORABLE}`];
      expect(await scratch.refuses('snapshots', file)).toEqual(expected);
      expect(await scratch.refuses('snapshots', file, '--coerce')).toEqual(expected);
    }
  }
});
