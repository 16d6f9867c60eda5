/** Parquet: a file with a row per cell. */
import { BIN_FACTORS, MIN_BIN } from '../../compute/ladder.js';
import {
  globEscaped,
  literal,
  type ParquetColumn,
  type ParquetSource,
  ParquetWriter,
} from '../../storage/parquet-file.js';
import { fileColumns, partColumns, partPage } from './columnar.js';
import { dataAddress, slotColumns, type PageWriter } from './formats.js';
import type { Totals } from './totals.js';

export const parquetWriter: PageWriter = {
  page: partPage,
  async convert(totals, part, to) {
    const writer = await ParquetWriter.open();
    try {
      await writer.write(sourceOf(totals, part), to);
    } finally {
      writer.close();
    }
  },
};

const PART_TYPES = {
  t: 'BIGINT',
  tier: 'VARCHAR',
  price_usd: 'DOUBLE',
  slot: 'INTEGER',
  bin: 'SMALLINT',
  support_usd: 'DOUBLE',
  resistance_usd: 'DOUBLE',
} as const;
/** Columns that hold no text. */
const NUMBERS: Readonly<Partial<Record<string, ParquetColumn['type']>>> = {
  ...PART_TYPES,
  timestamp: 'TIMESTAMP_MS',
  price: 'DOUBLE',
};

function sourceOf(totals: Totals, part: string): ParquetSource {
  const types = partColumns(totals).map(
    (name) => `${literal(name)}: ${literal(PART_TYPES[name as keyof typeof PART_TYPES])}`,
  );
  // DuckDB's pow() and ours differ in the last bit of some factors.
  const factors = Array.from(BIN_FACTORS, (factor) => factor.toExponential()).join(', ');
  const expressions = new Map([
    ['chain', literal(totals.head.chain)],
    ['address', literal(dataAddress(totals))],
    ['timestamp', 'epoch_ms(t * 1000)::TIMESTAMP_MS'],
    ['price', `price_usd * list_extract([${factors}]::DOUBLE[], bin + ${1 - MIN_BIN})`],
    ...slotColumns(totals).map(({ name, values }): [string, string] => {
      const list = values.map((value) => (value === null ? 'NULL' : literal(value))).join(', ');
      return [name, `list_extract([${list}]::VARCHAR[], slot + 1)`];
    }),
  ]);
  return {
    columns: fileColumns(totals).map((name) => ({
      name,
      type: NUMBERS[name] ?? 'VARCHAR',
      sql: expressions.get(name) ?? name,
    })),
    from: `read_csv(${literal(globEscaped(part))}, columns = {${types.join(', ')}}, auto_detect = false, header = false, delim = ',', quote = '"', escape = '"')`,
  };
}
