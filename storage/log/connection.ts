/** The connection to the NATS servers. It is restored whenever it is lost. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type Authenticator,
  connect,
  credsAuthenticator,
  errors,
  nkeyAuthenticator,
  type NatsConnection,
  type Server,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';
import { InputError, messageOf } from '../errors.js';

/** Pause before another attempt. */
export const RECONNECT_MS = 250;
/** Time limit of one attempt at one server. */
const DIAL_MS = 5000;
const CREDS = '-----BEGIN NATS USER JWT-----';
const NKEY_SEED = /^SU[A-Z2-7]{56}$/;

/** How to reach the NATS servers. */
export interface NatsAccess {
  /** Such as `nats://host:port`, or `tls://host:port` if TLS is required. */
  servers: readonly string[];
  /** File of credentials: see credentialsOf(). */
  credentials?: string | null;
  /** PEM files: the trusted authorities, and this client's certificate and key. */
  ca?: string | null;
  cert?: string | null;
  key?: string | null;
}

export class NatsLink {
  /** Resolves to the connection, which remains the same object when it is lost and restored. */
  readonly connecting: Promise<NatsConnection>;
  private readonly ending = new AbortController();
  private connection: NatsConnection | null = null;
  /** Why there is no connection; null if there is one. */
  private why: string | null = 'not connected yet';
  private losing = new AbortController();

  /**
   * Connects in the background.
   * @throws InputError if the file of credentials is malformed
   */
  constructor(access: NatsAccess, name: string) {
    const { servers, credentials, ca, cert, key } = access;
    const isTls = servers.some((server) => server.startsWith('tls:'));
    /** Host of the server that the client connects to. */
    let serverHost = '';
    const tls = {
      ...(ca ? { caFile: ca } : {}),
      ...(cert ? { certFile: cert } : {}),
      ...(key ? { keyFile: key } : {}),
      // For a server named by address, the client would compare its certificate with localhost.
      checkServerIdentity: (_: string, certificate: PeerCertificate) =>
        checkServerIdentity(serverHost, certificate),
    };
    const options = {
      servers: [...servers],
      name,
      timeout: DIAL_MS,
      maxReconnectAttempts: -1,
      // While credentials are being renewed, the two sides may differ for a moment.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: RECONNECT_MS,
      reconnectJitter: RECONNECT_MS,
      reconnectJitterTLS: RECONNECT_MS,
      pingInterval: 5000,
      maxPingOut: 2,
      ...(credentials ? { authenticator: authenticatorOf(credentials) } : {}),
      // The servers announce each other by addresses that may be missing from their certificates.
      ...(isTls ? { tls, ignoreClusterUpdates: true } : {}),
      reconnectToServer: ([next]: readonly Server[]) => {
        serverHost = next.hostname;
        return null;
      },
    };
    this.connecting = this.connect(options);
    this.connecting.catch(() => undefined);
  }

  /** The connection; null while it is lost. */
  get current(): NatsConnection | null {
    return this.why === null ? this.connection : null;
  }

  /** Why there is no connection, as ` (...)`; empty if there is one. */
  get reason(): string {
    return this.why === null ? '' : ` (${this.why})`;
  }

  /** Aborts when the current connection is lost. */
  get lost(): AbortSignal {
    return this.losing.signal;
  }

  async close(): Promise<void> {
    this.ending.abort();
    await this.connection?.close();
  }

  private async connect(options: Parameters<typeof connect>[0]): Promise<NatsConnection> {
    const { signal } = this.ending;
    for (;;) {
      try {
        const connection = await connect(options);
        this.connection = connection;
        this.connected();
        void this.watch(connection);
        if (signal.aborted) await connection.close();
        return connection;
      } catch (error) {
        this.why = messageOf(error);
      }
      await sleep(RECONNECT_MS, undefined, { signal });
    }
  }

  private connected(): void {
    this.why = null;
    this.losing = new AbortController();
  }

  private async watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'reconnect') this.connected();
      if (status.type === 'disconnect' || status.type === 'close') {
        // A rejected attempt to connect again ends as a lost connection, too.
        this.why ??= 'connection lost';
        this.losing.abort();
      }
      const refused = status.type === 'error' && status.error instanceof errors.AuthorizationError;
      if (refused) this.why = status.error.message;
    }
  }
}

/** Reads the file again for each connection: credentials may be renewed. @throws InputError */
function authenticatorOf(file: string): Authenticator {
  let latest = credentialsOf(file);
  return (nonce) => {
    try {
      latest = credentialsOf(file);
    } catch {
      // The file is being written, or has become wrong: the last credentials may still be valid.
    }
    return latest(nonce);
  };
}

/**
 * The credentials in a file: a .creds file of NATS, the seed of a user's NKEY, a user and a password separated by a
 * colon, or a token.
 * @throws InputError
 */
function credentialsOf(file: string): Authenticator {
  const expected = `${file}: expected a .creds file of NATS, an NKEY seed, USER:PASSWORD or a token`;
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new InputError(`${file}: cannot be read: ${(error as Error).message}`);
  }
  const colon = text.indexOf(':');
  const bytes = new TextEncoder().encode(`${text}\n`);
  const isCreds = text.includes(CREDS);
  if (!isCreds && !/^[^\r\n]+$/.test(text)) throw new InputError(expected);
  const made = isCreds
    ? credsAuthenticator(bytes)
    : NKEY_SEED.test(text)
      ? nkeyAuthenticator(new TextEncoder().encode(text))
      : colon > 0
        ? usernamePasswordAuthenticator(text.slice(0, colon), text.slice(colon + 1))
        : tokenAuthenticator(text);
  try {
    // With malformed credentials the client would give up for good.
    made('nonce');
  } catch {
    throw new InputError(expected);
  }
  return made;
}
