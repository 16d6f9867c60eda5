/** NKEYs and JWTs as `nsc` makes them for NATS servers. */
import { createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** The first byte of a public key, which determines its first letter. */
const ROLES = { operator: 14 << 3, account: 0, user: 20 << 3 };
const SEED = 18 << 3;
/** An ed25519 key in PKCS #8, before its 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

interface NKey {
  publicKey: string;
  seed: string;
  sign: (text: string) => Buffer;
}

export function nkey(role: keyof typeof ROLES): NKey {
  const secret = randomBytes(32);
  const der = Buffer.concat([PKCS8, secret]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const raw = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
  const prefix = ROLES[role];
  return {
    publicKey: checked([prefix, ...raw]),
    seed: checked([SEED | (prefix >> 5), (prefix & 31) << 3, ...secret]),
    sign: (text) => sign(null, Buffer.from(text), key),
  };
}

/** Bytes and their CRC-16 in base 32. */
function checked(bytes: readonly number[]): string {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  const all = [...bytes, crc & 255, crc >> 8];
  const bits = all.map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return bits.replace(/.{1,5}/g, (five) => ALPHABET[parseInt(five.padEnd(5, '0'), 2)]);
}

/** A token with the `nats` claim of a subject. */
function jwt(issuer: NKey, subject: string, nats: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { jti: subject, iat: 1_794_000_000, iss: issuer.publicKey, name: 'fathom' };
  const head = part({ typ: 'JWT', alg: 'ed25519-nkey' });
  const text = `${head}.${part({ ...claims, sub: subject, nats: { ...nats, version: 2 } })}`;
  return `${text}.${issuer.sign(text).toString('base64url')}`;
}

const FREE = { subs: -1, data: -1, payload: -1 };
const LIMITS = { ...FREE, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
const STORAGE = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };

/** A server's configuration with an account, and its user's .creds file. */
export function operatorMode(): { config: string; creds: string } {
  const [operator, system, account] = [nkey('operator'), nkey('account'), nkey('account')];
  const user = nkey('user');
  const accountJwt = ({ publicKey }: NKey, limits: object): string =>
    `${publicKey}: ${jwt(operator, publicKey, { type: 'account', limits })}`;
  const config = `
    operator: ${jwt(operator, operator.publicKey, { type: 'operator' })}
    system_account: ${system.publicKey}
    resolver: MEMORY
    resolver_preload { ${accountJwt(system, LIMITS)}, ${accountJwt(account, { ...LIMITS, ...STORAGE })} }`;
  const token = jwt(account, user.publicKey, { type: 'user', pub: {}, sub: {}, ...FREE });
  const section = (of: string, text: string): string =>
    `-----BEGIN ${of}-----\n${text}\n------END ${of}------\n\n`;
  const creds = section('NATS USER JWT', token) + section('USER NKEY SEED', user.seed);
  return { config, creds };
}
