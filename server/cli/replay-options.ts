/** What `fathom replay` is told by its words and its environment. */
import { UsageError } from '../../storage/errors.js';
import {
  baseUrl,
  checkedAddress,
  type ReplayParameters,
  type ReplayRequest,
} from '../client/request.js';
import { REPLAY_FORMATS, type ReplayFormat } from '../client/writer.js';
import { readFlags } from './flags.js';

const DEFAULT_URL = 'http://127.0.0.1:8080';

export const REPLAY_USAGE = `fathom replay ADDRESS --out FILE [--format ${REPLAY_FORMATS.join('|')}] [--url URL] [--from T] [--to T]
  [--group market|venue|type|all] [--types LIST] [--onchain] [--venues LIST] [--exclude-types LIST] [--exclude-venues LIST]
  [--min-pct N] [--max-pct N] [--force] [--restart] [--json]
  The key comes from FATHOM_KEY, the URL from --url, else FATHOM_URL, else ${DEFAULT_URL}.`;

/** Flags that are handed to the server under the same name with underscores; it checks them. */
const PASSED_ON = [
  'group',
  'from',
  'to',
  'types',
  'venues',
  'exclude-types',
  'exclude-venues',
  'min-pct',
  'max-pct',
] as const;
/** Formats by the ending of OUT, where --format is not given. */
const FORMAT_OF_ENDING: Readonly<Record<string, ReplayFormat>> = {
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  csv: 'csv',
  arrow: 'arrow',
  parquet: 'parquet',
};

export interface ReplayOptions {
  request: ReplayRequest;
  format: ReplayFormat;
  out: string;
  key: string;
  force: boolean;
  restart: boolean;
  json: boolean;
}

/** @throws UsageError */
export function replayOptions(words: readonly string[]): ReplayOptions {
  const { flags, rest } = readFlags(withNegativeNumbers(words), {
    ...(Object.fromEntries(PASSED_ON.map((name) => [name, 'text'])) as Record<
      (typeof PASSED_ON)[number],
      'text'
    >),
    url: 'text',
    format: 'text',
    out: 'text',
    onchain: 'switch',
    force: 'switch',
    restart: 'switch',
    json: 'switch',
  });
  const [address, ...others] = rest;
  if (address === undefined) throw new UsageError('ADDRESS: expected one');
  if (others.length > 0) throw new UsageError(`replay: unexpected ${others[0]}`);
  const parameters: Record<string, string> = flags.onchain ? { onchain: 'true' } : {};
  for (const name of PASSED_ON) {
    const value = flags[name];
    if (value !== undefined) parameters[name.replaceAll('-', '_')] = value;
  }
  const out = outOf(flags.out);
  const request = requestOf(address, flags.url, parameters);
  const { force, restart, json } = flags;
  return { request, format: formatOf(flags.format, out), out, key: keyOf(), force, restart, json };
}

/** `--min-pct -60`: a number that would be taken for a flag is bound to the one before it. */
function withNegativeNumbers(words: readonly string[]): string[] {
  const bound: string[] = [];
  for (const word of words) {
    const before = bound.at(-1);
    const binds = before !== undefined && /^--(min|max)-pct$/.test(before) && /^-\.?\d/.test(word);
    if (binds) bound[bound.length - 1] = `${before}=${word}`;
    else bound.push(word);
  }
  return bound;
}

function requestOf(
  address: string,
  urlFlag: string | undefined,
  parameters: ReplayParameters,
): ReplayRequest {
  const url =
    urlFlag === undefined
      ? baseUrl(process.env.FATHOM_URL || DEFAULT_URL, 'FATHOM_URL')
      : baseUrl(urlFlag, '--url');
  return { url, address: checkedAddress(address), parameters };
}

function outOf(flag: string | undefined): string {
  if (flag !== undefined && flag !== '' && flag !== '-') return flag;
  throw new UsageError('--out: expected a file, beside which the parts of an interrupted run lie');
}

function formatOf(flag: string | undefined, out: string): ReplayFormat {
  const ending = /\.([^./]+)$/.exec(out)?.[1].toLowerCase() ?? '';
  const named = flag ?? FORMAT_OF_ENDING[ending];
  const format = REPLAY_FORMATS.find((known) => known === named);
  if (format !== undefined) return format;
  const told = flag === undefined ? '' : `, not ${flag}`;
  throw new UsageError(`--format: expected one of ${REPLAY_FORMATS.join(', ')}${told}`);
}

function keyOf(): string {
  const key = process.env.FATHOM_KEY?.trim() ?? '';
  if (key === '') throw new UsageError('FATHOM_KEY: expected the API key in this variable');
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError('FATHOM_KEY: expected an API key, this has characters that no key has');
}
