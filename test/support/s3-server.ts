/** An S3-compatible server in memory that checks signatures by its own reading of AWS's Signature Version 4, and fails as it is told. */
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export const S3_KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret/of+the=test' };
const BUCKET = 'history';
const MAX_SKEW_MS = 15 * 60_000;

interface Refused {
  status: number;
  code: string;
}

/**
 * How a request fails: refused, never answered, answered late, cut within its body, with half of the object, or with a
 * flipped bit.
 */
export type S3Fault = Refused | 'hang' | 'slow' | 'cut' | 'short' | 'flip';
/** How late a slow answer is. */
const SLOW_MS = 300;

export class S3Server {
  readonly objects = new Map<string, { bytes: Buffer; writtenMs: number }>();
  /** `METHOD key` of every request. */
  readonly requests: string[] = [];
  readBytes = 0;
  /** Objects in one reply to a list. */
  listedAtOnce = 1000;
  /** Decides for each request whether it fails, and how. */
  fault: (method: string, key: string) => S3Fault | null = () => null;
  credentials = S3_KEY;
  sessionToken: string | null = null;
  nowMs = () => Date.now();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<S3Server> {
    const server = createServer();
    const own = new S3Server(server);
    server.on('request', (request, response) => void own.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return own;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `s3://${BUCKET}/fathom`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '' } = request;
    const url = new URL(request.url ?? '/', this.endpoint);
    const [, bucket, ...parts] = url.pathname.split('/').map(decodeURIComponent);
    const key = parts.join('/');
    this.requests.push(`${method} ${key}`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const fault = this.fault(method, key);
    if (fault === 'hang') return;
    if (fault === 'slow') await sleep(SLOW_MS);
    const refused =
      (typeof fault === 'object' ? fault : null) ??
      this.refusal(request, url, body) ??
      (bucket === BUCKET ? null : { status: 404, code: 'NoSuchBucket' });
    if (refused !== null) return refuse(response, method, refused);
    if (method === 'PUT') {
      this.objects.set(key, { bytes: body, writtenMs: Math.floor(this.nowMs()) });
      response.end();
      return;
    }
    if (method === 'DELETE') {
      this.objects.delete(key);
      response.writeHead(204).end();
      return;
    }
    if (key === '') return this.list(url.searchParams, response);
    const found = this.objects.get(key);
    if (found === undefined) return refuse(response, method, { status: 404, code: 'NoSuchKey' });
    const whole =
      fault === 'short' ? found.bytes.subarray(0, found.bytes.length >> 1) : found.bytes;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const part =
      first === undefined ? whole : Buffer.from(whole.subarray(Number(first), Number(last) + 1));
    if (first !== undefined && part.length === 0) {
      return refuse(response, method, { status: 416, code: 'InvalidRange' });
    }
    if (fault === 'flip') part[part.length >> 1] ^= 1;
    this.readBytes += method === 'GET' ? part.length : 0;
    response.writeHead(first === undefined ? 200 : 206, {
      'content-length': part.length,
      'last-modified': new Date(found.writtenMs).toUTCString(),
    });
    if (fault === 'cut') {
      response.write(part.subarray(0, part.length >> 1));
      setTimeout(() => response.destroy(), 20);
      return;
    }
    response.end(method === 'HEAD' ? undefined : part);
  }

  /** ListObjectsV2, in the order of the keys' bytes. */
  private list(query: URLSearchParams, response: ServerResponse): void {
    const [prefix, after] = [query.get('prefix') ?? '', query.get('start-after') ?? ''];
    const found = [...this.objects].filter(([key]) => key.startsWith(prefix) && key > after);
    const listed = found.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, this.listedAtOnce);
    const contents = listed.map(
      ([key, { bytes, writtenMs }]) =>
        `<Contents><Key>${encodeURIComponent(key).replaceAll('%2F', '/')}</Key><LastModified>${new Date(writtenMs).toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`,
    );
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0"?><ListBucketResult><Name>${BUCKET}</Name><IsTruncated>${found.length > listed.length}</IsTruncated>${contents.join('')}</ListBucketResult>`,
    );
  }

  /** What is wrong with a request's signature; null: nothing. */
  private refusal(request: IncomingMessage, url: URL, body: Buffer): Refused | null {
    const { authorization = '' } = request.headers;
    const header = (name: string): string => String(request.headers[name] ?? '');
    const [, id, date, region, signed, signature] =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
        authorization,
      ) ?? [];
    if (signature === undefined) return { status: 403, code: 'AccessDenied' };
    if (id !== this.credentials.accessKeyId) return { status: 403, code: 'InvalidAccessKeyId' };
    if (this.sessionToken !== null && header('x-amz-security-token') !== this.sessionToken) {
      return { status: 400, code: 'ExpiredToken' };
    }
    const time = header('x-amz-date');
    const ms = Date.parse(
      time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
    );
    if (Math.abs(ms - this.nowMs()) > MAX_SKEW_MS) {
      return { status: 403, code: 'RequestTimeTooSkewed' };
    }
    const names = signed.split(';');
    const payload = header('x-amz-content-sha256');
    const sha256 = (text: string | Buffer): string =>
      createHash('sha256').update(text).digest('hex');
    if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) {
      return { status: 400, code: 'XAmzContentSHA256Mismatch' };
    }
    const canonical = [
      request.method,
      url.pathname,
      [...url.searchParams]
        .map((pair) => pair.map(encodeURIComponent).join('='))
        .sort()
        .join('&'),
      ...names.map((name) => `${name}:${header(name).trim()}`),
      '',
      signed,
      payload,
    ].join('\n');
    const scope = `${date}/${region}/s3/aws4_request`;
    const hmac = (key: string | Buffer, text: string): Buffer =>
      createHmac('sha256', key).update(text).digest();
    const secret = hmac(`AWS4${this.credentials.secretAccessKey}`, date);
    const signing = hmac(hmac(hmac(secret, region), 's3'), 'aws4_request');
    const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
    const expected = hmac(signing, text).toString('hex');
    return expected === signature ? null : { status: 403, code: 'SignatureDoesNotMatch' };
  }
}

function refuse(response: ServerResponse, method: string, { status, code }: Refused): void {
  const xml = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>as the test asked</Message></Error>`;
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(method === 'HEAD' ? undefined : xml);
}
