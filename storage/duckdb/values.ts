/** Values on their way into a statement and out of a result. */
import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DOUBLE,
  DuckDBBlobValue,
  LIST,
  SQLNULL,
  UINTEGER,
  VARCHAR,
  listValue,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import type { SqlParameter, SqlRow, SqlValue } from './statements.js';

/**
 * A statement's parameters and a type for each, as the client takes them; nothing at all without
 * parameters, so that the client has nothing to bind.
 */
export function bindings(values: readonly SqlParameter[]): [DuckDBValue[]?, DuckDBType[]?] {
  if (values.length === 0) return [];
  return [values.map(parameterValue), values.map(parameterType)];
}

function parameterValue(value: SqlParameter): DuckDBValue {
  return isList(value) ? listValue(Array.from<string | number>(value)) : boundValue(value);
}

function parameterType(value: SqlParameter): DuckDBType {
  if (!isList(value)) return boundType(value);
  return LIST(value instanceof Uint32Array ? UINTEGER : VARCHAR);
}

function isList(value: SqlParameter): value is readonly string[] | Uint32Array<ArrayBuffer> {
  return Array.isArray(value) || value instanceof Uint32Array;
}

function boundValue(value: SqlValue): DuckDBValue {
  if (value instanceof Uint8Array) return new DuckDBBlobValue(value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

function boundType(value: SqlValue): DuckDBType {
  if (value === null) return SQLNULL;
  if (value instanceof Uint8Array) return BLOB;
  switch (typeof value) {
    case 'string':
      return VARCHAR;
    case 'boolean':
      return BOOLEAN;
    default:
      return Number.isSafeInteger(value) ? BIGINT : DOUBLE;
  }
}

/**
 * A value of a result as the rest of the code knows it.
 * @throws TypeError for a type that no query selects
 */
export function plainValue(value: DuckDBValue): SqlValue | SqlRow {
  switch (typeof value) {
    case 'bigint':
      return Number(value);
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    default:
      break;
  }
  if (value === null) return null;
  if (value instanceof DuckDBBlobValue) {
    const { buffer, byteOffset, byteLength } = value.bytes;
    return new Uint8Array(buffer, byteOffset, byteLength);
  }
  if (typeof value === 'object' && 'items' in value) {
    return (value.items as DuckDBValue[]).map(plainValue);
  }
  throw new TypeError('a column of a type that no query of ours selects');
}
