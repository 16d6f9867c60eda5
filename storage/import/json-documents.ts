/** Files that are one JSON document, or one on each line. */
import { type Fields, isFields } from '../../compute/ingest/fields.js';
import { InputError } from '../errors.js';
import { readBytes } from '../lines.js';
import { excerpt } from './refusals.js';

/** A file is parsed as a whole; the whole mainnet token list takes 6 MB. */
const MAX_LIST_BYTES = 256 * 1024 * 1024;

interface JsonDocument {
  /** `file`, or `file:line`. */
  where: string;
  value: unknown;
}

/** The file's one JSON object. @throws InputError */
export async function readJsonObject(path: string): Promise<Fields> {
  const document = parsed(await readText(path));
  if (document === null) throw new InputError(`${path}: expected a JSON document`);
  if (isFields(document.value)) return document.value;
  throw new InputError(`${path}: expected a JSON object`);
}

/**
 * The file's JSON document, or those of its lines if the first line is one; none if the file is empty.
 * @throws InputError
 */
export async function readJsonDocuments(path: string): Promise<JsonDocument[]> {
  const text = await readText(path);
  if (text.trim() === '') return [];
  const whole = parsed(text);
  if (whole !== null) return [{ where: path, value: whole.value }];
  const lines = text.split('\n').map((line, i) => ({ where: `${path}:${i + 1}`, line }));
  const filled = lines.filter(({ line }) => line.trim() !== '');
  if (parsed(filled[0].line) === null) {
    const what = /^\s*[{[]/.test(text)
      ? ': it is cut off or damaged'
      : `, found '${excerpt(filled[0].line.trim())}'`;
    throw new InputError(`${path}: expected a JSON document, or one on each line${what}`);
  }
  return filled.map(({ where, line }) => {
    const document = parsed(line);
    if (document !== null) return { where, value: document.value };
    throw new InputError(
      `${where}: the line: expected a whole JSON document, found '${excerpt(line)}'`,
    );
  });
}

/** Without a byte order mark. */
async function readText(path: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of readBytes(path)) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_LIST_BYTES) {
      const limit = `${MAX_LIST_BYTES / 1024 / 1024} MiB`;
      throw new InputError(`${path}: the file is larger than ${limit}`);
    }
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

/** Null if the text is not a JSON document. */
function parsed(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}
