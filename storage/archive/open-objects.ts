/** Opens the objects of an archive where its settings say. */
import type { Statements } from '../duckdb/statements.js';
import { InputError } from '../errors.js';
import { type Meta, writeMeta } from '../meta.js';
import { FolderObjects } from './folder-objects.js';
import type { Objects } from './objects.js';

/** Where objects are, and how to reach them. */
export interface ArchivePlace {
  /** `s3://bucket/prefix` or `file:///folder`. */
  url: string;
  /** Address of an S3-compatible server; null: that of AWS in the region. */
  endpoint: string | null;
  /** null: as the environment says. */
  region: string | null;
  /** A file with credentials in the ini form of AWS; null: the variables of the environment. */
  credentialsFile: string | null;
}

const META_KEY = 'archive';

/** The place where the last process archived: whoever opens the store reads there. null: there was none. */
export function knownPlace(meta: Meta): ArchivePlace | null {
  return JSON.parse(meta.get(META_KEY) ?? 'null') as ArchivePlace | null;
}

export function writePlace(tx: Statements, place: ArchivePlace): Promise<void> {
  return writeMeta(tx, META_KEY, JSON.stringify(place));
}

export async function openObjects(place: ArchivePlace): Promise<Objects> {
  const url = readArchiveUrl(place.url, 'archive url');
  if (url.protocol === 'file:') return new FolderObjects(decodeURIComponent(url.pathname));
  // Loaded on demand: most stores have no archive.
  const [{ S3Objects }, { credentialsOf }] = await Promise.all([
    import('./s3-objects.js'),
    import('./credentials.js'),
  ]);
  return new S3Objects({
    bucket: url.hostname,
    prefix: decodeURIComponent(url.pathname).replace(/^\/|\/$/g, ''),
    endpoint: place.endpoint,
    region: place.region ?? regionOfEnvironment(),
    credentials: credentialsOf(place.credentialsFile),
  });
}

function regionOfEnvironment(): string {
  const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
  return AWS_REGION ?? AWS_DEFAULT_REGION ?? 'us-east-1';
}

/** @throws InputError that names what was expected */
export function readArchiveUrl(text: string, from: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isBucket = url?.protocol === 's3:' && url.hostname !== '';
  const isFolder = url?.protocol === 'file:' && url.hostname === '' && url.pathname !== '/';
  const isBare =
    url?.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '' &&
    url.port === '';
  if (url !== null && (isBucket || isFolder) && isBare && isDecodable(url.pathname)) return url;
  throw new InputError(
    `${from}: expected s3://bucket/prefix or file:///folder, not '${withoutSecrets(text)}'`,
  );
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** What stands before an @ may be a password. */
function withoutSecrets(text: string): string {
  return text.replace(/\/\/.*@/, '//***@');
}
