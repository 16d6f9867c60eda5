/** The connection to the servers of NATS: made again and again, with what they ask for. */
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
import { InputError } from '../errors.js';

/** Rest before another attempt. */
export const RECONNECT_MS = 250;
/** One attempt at one server. */
const DIAL_MS = 5000;
const CREDS = '-----BEGIN NATS USER JWT-----';
const NKEY_SEED = /^SU[A-Z2-7]{56}$/;

/** How the servers of NATS are reached. */
export interface NatsAccess {
  /** As `nats://host:port`; as `tls://host:port` they have to speak TLS. */
  servers: readonly string[];
  /** File with what they ask for: see credentialsOf(). */
  credentials?: string | null;
  /** Files in PEM: whose certificates are trusted, and this side's own with its key. */
  ca?: string | null;
  cert?: string | null;
  key?: string | null;
}

export class NatsLink {
  /** The first connection, which is kept, and made again whenever it is lost. */
  readonly connecting: Promise<NatsConnection>;
  private readonly ending = new AbortController();
  private connection: NatsConnection | null = null;
  /** Why there is no connection; null: there is one. */
  private why: string | null = 'not connected yet';
  private losing = new AbortController();

  /**
   * Connects in the background.
   * @throws InputError if the credentials are none
   */
  constructor(access: NatsAccess, name: string) {
    const { servers, credentials, ca, cert, key } = access;
    const isTls = servers.some((server) => server.startsWith('tls:'));
    /** Host of the server that is being connected to. */
    let asked = '';
    const tls = {
      ...(ca ? { caFile: ca } : {}),
      ...(cert ? { certFile: cert } : {}),
      ...(key ? { keyFile: key } : {}),
      // The client compares an address with the name localhost.
      checkServerIdentity: (_: string, certificate: PeerCertificate) =>
        checkServerIdentity(asked, certificate),
    };
    const options = {
      ...{ servers: [...servers], name },
      timeout: DIAL_MS,
      maxReconnectAttempts: -1,
      // Credentials may be renewed on one side first.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: RECONNECT_MS,
      reconnectJitter: RECONNECT_MS,
      reconnectJitterTLS: RECONNECT_MS,
      pingInterval: 5000,
      maxPingOut: 2,
      ...(credentials ? { authenticator: authenticatorOf(credentials) } : {}),
      // Servers that others tell of have addresses, which their certificates need not name.
      ...(isTls ? { tls, ignoreClusterUpdates: true } : {}),
      reconnectToServer: ([next]: readonly Server[]) => {
        asked = next.hostname;
        return null;
      },
    };
    this.connecting = this.connect(options);
    this.connecting.catch(() => undefined);
  }

  /** The connection while it stands. */
  get standing(): NatsConnection | null {
    return this.why === null ? this.connection : null;
  }

  /** Why there is none, as ` (...)`; empty where there is one. */
  get reason(): string {
    return this.why === null ? '' : ` (${this.why})`;
  }

  /** Aborts when the connection that stands is lost. */
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
        this.stands();
        void this.watch(connection);
        if (signal.aborted) await connection.close();
        return connection;
      } catch (error) {
        this.why = error instanceof Error ? error.message : String(error);
      }
      await sleep(RECONNECT_MS, undefined, { signal });
    }
  }

  private stands(): void {
    this.why = null;
    this.losing = new AbortController();
  }

  private async watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'reconnect') this.stands();
      if (status.type === 'disconnect' || status.type === 'close') {
        this.why = 'connection lost';
        this.losing.abort();
      }
      const refused = status.type === 'error' && status.error instanceof errors.AuthorizationError;
      if (refused) this.why = status.error.message;
    }
  }
}

/** Reads the file again for each connection, so that renewed credentials are taken. @throws InputError */
function authenticatorOf(file: string): Authenticator {
  let latest = credentialsOf(file);
  return (nonce) => {
    try {
      latest = credentialsOf(file);
    } catch {
      // It is being written, or wrong by now: what is known may still do.
    }
    return latest(nonce);
  };
}

/**
 * What a file of credentials says: a .creds file of NATS, the seed of a user's NKEY, a user and a password with
 * a colon between, or a token.
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
    // The client would give up for good where it cannot be read.
    made('nonce');
  } catch {
    throw new InputError(expected);
  }
  return made;
}
