/** Objects in an S3-compatible bucket. The only module that uses aws4fetch, which signs requests for fetch(). */
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';
import { messageOf } from '../errors.js';
import type { ReadCredentials } from './credentials.js';
import {
  ArchiveUnavailableError,
  type ListedObject,
  ObjectFaultError,
  type Objects,
} from './objects.js';

/** A request that takes longer is given up: what it moves, at 64 KiB/s, is on top. */
const OBJECT_TIMEOUT_MS = 4000;
const SLOWEST_BYTES_PER_MS = 64;
const MAX_ATTEMPTS = 3;
/** The first wait before another attempt; each doubles it, and takes a random half to all of it. */
const FIRST_WAIT_MS = 200;
/** Of a refusal, at most these bytes are read. */
const MAX_REFUSAL_BYTES = 64 * 1024;
/** Of a list of 1,000 objects, whose keys S3 limits to 1 KiB. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

/** Keys that are derived from the credentials, one a day: more are forgotten. */
const MAX_SIGNING_KEYS = 100;

interface S3Options {
  bucket: string;
  /** Without slashes at its ends; empty: the whole bucket. */
  prefix: string;
  endpoint: string | null;
  region: string;
  credentials: ReadCredentials;
}

interface S3Request {
  method: string;
  headers?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
  /** Of the URL, without its question mark. */
  query?: string;
}

/** A server's refusal. */
interface Refusal {
  status: number;
  /** Such as NoSuchKey; empty if the server names none. */
  code: string;
  message: string;
}

/** A reply to a request that was carried out; `modified` is its Last-Modified. */
interface Reply {
  bytes: Uint8Array;
  modified: string | null;
}

/** The codes of refusals whose body a server leaves out. */
const CODES: Readonly<Record<number, string>> = { 301: 'PermanentRedirect', 403: 'AccessDenied' };

/** What an operator can do about a refusal, by its code. */
const ADVICE: Readonly<Record<string, string>> = {
  AccessDenied: 'give its key the right to do that (docs/operating.md#archive)',
  InvalidAccessKeyId: 'the server does not know this access key',
  SignatureDoesNotMatch: 'the secret does not belong to the access key',
  ExpiredToken: 'renew the session token',
  RequestTimeTooSkewed: "this machine's clock differs from the server's by too much: set it right",
  NoSuchBucket: 'make the bucket, or name another one',
  PermanentRedirect: 'give the region of the bucket',
  AuthorizationHeaderMalformed: 'give the region of the bucket',
  SlowDown: 'the server asks for fewer requests',
};

export class S3Objects implements Objects {
  /** The bucket's address. */
  private readonly root: string;
  private readonly closing = new AbortController();
  /** aws4fetch's, by secret and day: to derive one takes as long as the rest of a request. */
  private readonly signingKeys = new Map<string, ArrayBuffer>();

  constructor(private readonly options: S3Options) {
    const { bucket, endpoint, region } = options;
    this.root =
      endpoint === null
        ? `https://${bucket}.s3.${region}.amazonaws.com`
        : `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  }

  get name(): string {
    const { bucket, prefix } = this.options;
    return `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  }

  async put(key: string, bytes: Uint8Array, sha256: string): Promise<void> {
    const written = await this.request(`write ${key}`, this.within(key), {
      method: 'PUT',
      body: bytes as Uint8Array<ArrayBuffer>,
      headers: {
        'content-type': 'application/octet-stream',
        'x-amz-content-sha256': sha256,
      },
    });
    if (written === null) throw new ArchiveUnavailableError(`${this.name} does not exist`);
  }

  async read(key: string, at: number, length: number): Promise<Uint8Array> {
    const headers = { range: `bytes=${at}-${at + length - 1}` };
    const request = { method: 'GET', headers };
    const reply = await this.request(`read ${key}`, this.within(key), request, length);
    if (reply?.bytes.length === length) return reply.bytes;
    throw new ObjectFaultError(
      `the object ${key} in ${this.name} is gone, or has fewer bytes than it had`,
    );
  }

  async list(prefix: string, after: string | null): Promise<readonly ListedObject[]> {
    const query = new URLSearchParams({
      'list-type': '2',
      'encoding-type': 'url',
      prefix: this.within(prefix),
      ...(after === null ? {} : { 'start-after': this.within(after) }),
    });
    const request = { method: 'GET', query: query.toString() };
    const reply = await this.request(`list ${prefix}`, '', request, MAX_LIST_BYTES);
    const xml = new TextDecoder().decode(reply?.bytes);
    const own = this.within('');
    return elementsOf(xml, 'Contents').map((object) => ({
      key: decodeURIComponent(elementOf(object, 'Key').replaceAll('+', ' ')).slice(own.length),
      writtenS: secondsOf(elementOf(object, 'LastModified')),
    }));
  }

  async writtenS(key: string): Promise<number | null> {
    const reply = await this.request(`look for ${key}`, this.within(key), { method: 'HEAD' });
    return reply === null ? null : secondsOf(reply.modified ?? '');
  }

  async remove(key: string): Promise<void> {
    await this.request(`remove ${key}`, this.within(key), { method: 'DELETE' });
  }

  close(): void {
    this.closing.abort(new Error('this process ends'));
  }

  /** A key as the bucket has it. */
  private within(key: string): string {
    const { prefix } = this.options;
    return prefix === '' ? key : `${prefix}/${key}`;
  }

  /**
   * Sends a request, again if it may then succeed.
   * @param what it does, for messages
   * @param key as the bucket has it; empty: the bucket itself
   * @param expected bytes of the reply's body; it may have no more
   * @returns the reply; null if the object is missing
   */
  private async request(
    what: string,
    key: string,
    init: S3Request,
    expected = 0,
  ): Promise<Reply | null> {
    const failed = (why: string): string => `the archive in ${this.name} cannot ${what}: ${why}`;
    for (let attempt = 1; ; attempt++) {
      let why: string;
      try {
        const moved = (init.body?.length ?? 0) + expected;
        const limitMs = OBJECT_TIMEOUT_MS + Math.ceil(moved / SLOWEST_BYTES_PER_MS);
        const signal = AbortSignal.any([AbortSignal.timeout(limitMs), this.closing.signal]);
        const reply = await this.send(key, init, expected, signal);
        if ('bytes' in reply) return reply;
        const { status, code, message } = reply;
        // 416: the object has no byte of the range.
        if ((status === 404 && code !== 'NoSuchBucket') || status === 416) return null;
        const advice = ADVICE[code] === undefined ? '' : `; ${ADVICE[code]}`;
        why = `${status} ${code} ${message}`.trim() + advice;
        // Credentials are read for each attempt: they may have been renewed.
        const mayPass = status >= 500 || status === 429 || code === 'ExpiredToken';
        if (!mayPass) throw new ArchiveUnavailableError(failed(why));
      } catch (error) {
        if (error instanceof ArchiveUnavailableError) throw error;
        why = reasonOf(error);
      }
      if (attempt === MAX_ATTEMPTS || this.closing.signal.aborted)
        throw new ArchiveUnavailableError(failed(why));
      const waitMs = FIRST_WAIT_MS * 2 ** (attempt - 1);
      await sleep(waitMs * (0.5 + Math.random() / 2));
    }
  }

  private async send(
    key: string,
    { method, headers, body, query }: S3Request,
    expected: number,
    signal: AbortSignal,
  ): Promise<Reply | Refusal> {
    const { region, credentials } = this.options;
    const given = await credentials();
    if (this.signingKeys.size >= MAX_SIGNING_KEYS) this.signingKeys.clear();
    const cache = this.signingKeys;
    const client = new AwsClient({ ...given, service: 's3', region, retries: 0, cache });
    const url = `${this.root}/${encoded(key)}`;
    const signed = await client.sign(query === undefined ? url : `${url}?${query}`, {
      method,
      ...(headers === undefined ? {} : { headers }),
    });
    const reply = await fetch(signed.url, {
      method,
      headers: signed.headers,
      ...(body === undefined ? {} : { body }),
      // Another host must not get a signed request.
      redirect: 'manual',
      signal,
    });
    if (reply.ok) {
      // Only a read asks for a body; some servers send one anyway.
      const bytes =
        expected > 0 ? await bodyOf(reply, expected) : await bodyOf(reply, MAX_REFUSAL_BYTES, true);
      return { bytes, modified: reply.headers.get('last-modified') };
    }
    const text = new TextDecoder().decode(await bodyOf(reply, MAX_REFUSAL_BYTES, true));
    return {
      status: reply.status,
      code: elementOf(text, 'Code') || (CODES[reply.status] ?? ''),
      message: elementOf(text, 'Message'),
    };
  }
}

/** Reads a reply in a separate ArrayBuffer, up to `most` bytes. @param cut whether more are left out, not refused */
async function bodyOf(reply: Response, most: number, cut = false): Promise<Uint8Array> {
  const bytes = new Uint8Array(new ArrayBuffer(most));
  let length = 0;
  for await (const chunk of (reply.body ?? []) as AsyncIterable<Uint8Array>) {
    const left = most - length;
    bytes.set(chunk.subarray(0, left), length);
    length += Math.min(chunk.length, left);
    if (chunk.length <= left) continue;
    if (cut) break;
    throw new Error(`the server sent more than the ${most} bytes that were asked for`);
  }
  return length === most ? bytes : bytes.slice(0, length);
}

/** The contents of every element of a name in S3's XML. */
function elementsOf(xml: string, name: string): string[] {
  const parts = xml.split(`<${name}>`).slice(1);
  return parts.map((part) => part.slice(0, part.indexOf(`</${name}>`)));
}

/** Epoch seconds; Infinity, as just now, if a server does not say. */
function secondsOf(time: string): number {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? Infinity : Math.floor(ms / 1000);
}

/** The text of an element of S3's XML; empty if there is none. */
function elementOf(xml: string, name: string): string {
  const from = xml.indexOf(`<${name}>`);
  const to = xml.indexOf(`</${name}>`, from);
  return from < 0 || to < 0 ? '' : xml.slice(from + name.length + 2, to);
}

/** A path, with each of its parts encoded. */
function encoded(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}

/** fetch() hides why a connection failed in causes. */
function reasonOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined
    ? reasonOf(error.cause)
    : messageOf(error);
}
