/** Credentials of AWS: of the environment, or of a file that may be renewed at any time. */
import { readFile, stat } from 'node:fs/promises';
import { messageOf } from '../errors.js';
import { ArchiveUnavailableError } from './objects.js';

/** A credentials file with more bytes is none. */
const MAX_FILE_BYTES = 1024 * 1024;

export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** @throws ArchiveUnavailableError that says where they are missing */
export type ReadCredentials = () => Promise<Credentials>;

/** @param file null: the environment */
export function credentialsOf(file: string | null): ReadCredentials {
  return file === null ? ofEnvironment : () => ofFile(file);
}

function ofEnvironment(): Promise<Credentials> {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  return Promise.resolve().then(() =>
    complete('the environment', {
      aws_access_key_id: AWS_ACCESS_KEY_ID,
      aws_secret_access_key: AWS_SECRET_ACCESS_KEY,
      aws_session_token: AWS_SESSION_TOKEN,
    }),
  );
}

/** Reads the profile of AWS_PROFILE, or `default`. Files are small, and read for each request: a renewed one counts at once. */
async function ofFile(file: string): Promise<Credentials> {
  const profile = process.env['AWS_PROFILE'] ?? 'default';
  const text = await textOf(file).catch((error: unknown) => {
    throw new ArchiveUnavailableError(`the archive's credentials: ${messageOf(error)}`);
  });
  const values: Record<string, string> = {};
  let section = '';
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith(';')) continue;
    if (trimmed.startsWith('[') && trimmed.endsWith(']')) section = trimmed.slice(1, -1).trim();
    const equals = trimmed.indexOf('=');
    if (section !== profile || equals < 0) continue;
    values[trimmed.slice(0, equals).trim().toLowerCase()] = trimmed.slice(equals + 1).trim();
  }
  return complete(`${file} [${profile}]`, values);
}

async function textOf(file: string): Promise<string> {
  if ((await stat(file)).size > MAX_FILE_BYTES) {
    throw new Error(`${file} has more than ${MAX_FILE_BYTES} bytes`);
  }
  return readFile(file, 'utf8');
}

function complete(from: string, values: Readonly<Record<string, string | undefined>>): Credentials {
  const [accessKeyId, secretAccessKey] = ['aws_access_key_id', 'aws_secret_access_key'].map(
    (name) => {
      const value = values[name];
      if (value !== undefined && value !== '') return value;
      const named = from === 'the environment' ? name.toUpperCase() : name;
      throw new ArchiveUnavailableError(`the archive's credentials: ${from} lacks ${named}`);
    },
  ) as [string, string];
  const { aws_session_token: token } = values;
  return {
    accessKeyId,
    secretAccessKey,
    ...(token === undefined || token === '' ? {} : { sessionToken: token }),
  };
}
