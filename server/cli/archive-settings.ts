/** The settings of the archive: closed days as objects beyond the store's disk. */
import { readArchiveUrl } from '../../storage/archive/open-objects.js';
import { InputError, messageOf, UsageError } from '../../storage/errors.js';
import type { ArchiveOptions } from '../../storage/opening.js';
import { flagsOf } from './effective-settings.js';
import { duration, durationText } from './flags.js';
import { GIB, gibibytes, readableFile } from './setting-readers.js';

const DEFAULT_AFTER = '7d';
const DEFAULT_GRACE = '7d';
const MAX_TIME = '36500d';
const DEFAULT_CACHE_GIB = 20;
const MAX_CACHE_GIB = 8192;
const REGION = /^[a-z0-9-]{1,64}$/;

export const ARCHIVE_SETTINGS = {
  'archive-url': {
    placeholder: 'URL',
    meaning:
      'moves closed UTC days as objects to s3://bucket/prefix or file:///folder, and reads them there',
    default: 'off',
    fallback: null,
    read: archiveUrl,
  },
  'archive-endpoint': {
    placeholder: 'URL',
    meaning: 'address of an S3-compatible server, http://host:port or https://host',
    default: "AWS's in the region",
    fallback: null,
    read: endpoint,
  },
  'archive-region': {
    placeholder: 'NAME',
    meaning: 'region of the bucket',
    default: 'AWS_REGION, otherwise us-east-1',
    fallback: null,
    read: region,
  },
  'archive-credentials': {
    placeholder: 'FILE',
    meaning: 'credentials in the ini form of AWS, read again for each request',
    default: "AWS's variables of the environment",
    names: 'file',
    fallback: null,
    read: readableFile,
  },
  'archive-after': time('how long after its end a day is archived', DEFAULT_AFTER),
  'archive-grace': time('how long an object stays that nothing names any more', DEFAULT_GRACE),
  'archive-cache-gib': {
    placeholder: 'N',
    meaning: `GiB of the store's disk for blocks of archived days, at most ${MAX_CACHE_GIB}; 0 keeps none`,
    default: String(DEFAULT_CACHE_GIB),
    fallback: DEFAULT_CACHE_GIB * GIB,
    read: (text: string, from: string) => gibibytes(text, from, MAX_CACHE_GIB),
    document: (bytes: number) => bytes / GIB,
  },
} as const;

/** The flags of commands that need an archive. */
export const ARCHIVE_FLAGS = flagsOf(ARCHIVE_SETTINGS);

type ArchiveName = keyof typeof ARCHIVE_SETTINGS;

interface ArchiveValues {
  'archive-url': string | null;
  'archive-endpoint': string | null;
  'archive-region': string | null;
  'archive-credentials': string | null;
  'archive-after': number;
  'archive-grace': number;
}

/** The options of the archive; null: none. */
export function archiveOf(values: ArchiveValues): ArchiveOptions | null {
  const url = values['archive-url'];
  if (url === null) return null;
  return {
    place: {
      url,
      endpoint: values['archive-endpoint'],
      region: values['archive-region'],
      credentialsFile: values['archive-credentials'],
    },
    afterS: values['archive-after'],
    graceS: values['archive-grace'],
  };
}

/** What only a bucket has. */
const OF_BUCKETS = ['archive-endpoint', 'archive-region', 'archive-credentials'] as const;

/** @throws UsageError if a setting of a bucket is given, and no bucket */
export function checkArchive(
  url: string | null,
  givenFrom: (name: ArchiveName) => string | undefined,
): void {
  const stray = OF_BUCKETS.find((name) => givenFrom(name) !== undefined);
  if (stray === undefined || url?.startsWith('s3:')) return;
  throw new UsageError(`${givenFrom(stray)}: needs --archive-url as s3://bucket/prefix`);
}

function time(meaning: string, usual: string) {
  const read = (text: string, from: string): number => duration(text, from, MAX_TIME);
  return {
    placeholder: 'DURATION',
    meaning: `${meaning}, such as 1h or 30d`,
    default: usual,
    fallback: duration(usual, 'default', MAX_TIME),
    read,
    document: durationText,
  } as const;
}

function archiveUrl(text: string, from: string): string {
  try {
    return readArchiveUrl(text, from).href;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new UsageError(messageOf(error));
  }
}

function endpoint(text: string, from: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb =
    url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isWeb && url.search === '' && url.hash === '') return url.href.replace(/\/$/, '');
  throw new UsageError(`${from}: expected http://host:port or https://host, without a password`);
}

function region(text: string, from: string): string {
  if (REGION.test(text)) return text;
  throw new UsageError(
    `${from}: expected the name of a region, such as eu-central-1, not '${text}'`,
  );
}
