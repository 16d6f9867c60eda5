/** JSON in settings, which people write. */
import { UsageError } from '../storage/errors.js';

/**
 * Parses a setting's JSON.
 * @param from names the setting in errors
 * @throws UsageError if it is not JSON, or if an object has a key twice: JSON.parse() would use the last
 */
export function parseJson(text: string, from: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${from}: expected JSON: ${(error as Error).message}`);
  }
  const repeated = [...repeatedKeys(text)].map((key) => `${from}: ${key}: given twice`);
  if (repeated.length > 0) throw new UsageError(repeated.join('\n'));
  return value;
}

/** A text of JSON, with the colon after it if it is a key, or a brace or bracket. */
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g;

/** The paths of the keys that objects of a valid JSON text have twice, such as `plans.premium`. */
function repeatedKeys(json: string): Set<string> {
  const repeated = new Set<string>();
  const open: { prefix: string; keys: Set<string> }[] = [];
  let prefix = '';
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push({ prefix, keys: new Set() });
    else if (token === '}' || token === ']') prefix = open.pop()?.prefix ?? '';
    else if (colon !== undefined) {
      const object = open.at(-1);
      const key = `${object?.prefix}${JSON.parse(text)}`;
      if (object?.keys.has(key)) repeated.add(key);
      object?.keys.add(key);
      prefix = `${key}.`;
    }
  }
  return repeated;
}
