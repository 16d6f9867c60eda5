/** Reads JSON request bodies by their schemas. */
import { Compile } from 'typebox/compile';
import Type, { type TObject } from 'typebox';
import { TextDecoder } from 'node:util';
import type { TLocalizedValidationError } from 'typebox/error';
import { ApiError, excerpt } from '../http/errors.js';

/** A body's media type: JSON, which is UTF-8 whether it says so or not. */
const JSON_TYPE = /^application\/json *(; *charset="?utf-8"? *)?$/i;

/** @throws ApiError 415 */
export function requireJson(contentType: string, contentEncoding: string): void {
  if (!JSON_TYPE.test(contentType.trim())) {
    throw unsupported(`Content-Type: expected application/json; was '${excerpt(contentType)}'`);
  }
  if (contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') {
    throw unsupported(`Content-Encoding: expected none; was '${excerpt(contentEncoding)}'`);
  }
}

function unsupported(message: string): ApiError {
  return new ApiError(415, 'unsupported_media_type', message);
}

/** A body of the shape that its schema says, with `chain` beside it. */
export type BodyValues = Record<string, unknown> & { chain?: string };

/** The schema of a whole body: its endpoint's fields, and `chain`. */
export function bodySchema({ properties }: TObject): TObject {
  return Type.Object({ ...properties, chain: Type.Optional(Type.String()) });
}

/** Makes the function that reads an endpoint's body; fields that it does not have are passed over. */
export function compileBody(schema: TObject): (bytes: Uint8Array) => BodyValues {
  const validator = Compile(bodySchema(schema));
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  return (bytes) => {
    const value = parseJson(utf8, bytes);
    if (validator.Check(value)) return value;
    throw invalidBody(explain(validator.Errors(value)[0]));
  };
}

function parseJson(utf8: TextDecoder, bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw invalidBody('body: expected UTF-8');
  }
  try {
    return JSON.parse(text);
  } catch {
    // The engine's own words would be of no use to the client, and differ between engines.
    throw invalidBody('body: expected a JSON document');
  }
}

function invalidBody(message: string): ApiError {
  return new ApiError(400, 'invalid_body', message);
}

function explain(fault: TLocalizedValidationError): string {
  const field = fieldName(fault.instancePath);
  switch (fault.keyword) {
    case 'required':
      return `${fault.params.requiredProperties[0]}: expected a value, was not sent`;
    case 'enum':
      return `${field}: expected any of ${fault.params.allowedValues.join(', ')}`;
    default:
      return `${field}: ${fault.message}`;
  }
}

/** `/addresses/3` as people write it: `addresses[3]`. */
function fieldName(pointer: string): string {
  if (pointer === '') return 'body';
  return pointer.slice(1).replace(/\/(\d+)/g, '[$1]');
}
