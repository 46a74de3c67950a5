import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { database, settings } from './environment.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORMAT = /^Bearer (items_[0-9A-Za-z]{36})$/i;

const remembered = new Map<string, { readonly id: string; readonly until: number }>();

/** Failed authentications of one address that are looked up at once, and how many more each second: the service's defaults. */
const BURST = 100;
const RATE = 10;

interface Account {
  left: number;
  at: number;
}

const accounts = new Map<string, Account>();

/** The id of the token that a request presents; undefined if that is no valid one. */
export async function tokenIdOf(authorization: string | undefined, address: string): Promise<string | undefined> {
  const token = FORMAT.exec(authorization ?? '')?.[1];
  if (token === undefined || token.slice(-6) !== checksum(token.slice(0, -6))) {
    return undefined;
  }
  const digest = createHash('sha256').update(token).digest();
  const key = digest.toString('base64');
  const known = remembered.get(key);
  if (known && known.until > Date.now()) {
    return known.id;
  }
  return known || mayFail(address) ? lookUp(digest, key, address) : undefined;
}

async function lookUp(digest: Buffer, key: string, address: string): Promise<string | undefined> {
  const { rows } = await database.query<{ id: string }>(
    'SELECT id FROM access_tokens WHERE digest = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())',
    [digest],
  );
  const [row] = rows;
  if (row) {
    remembered.set(key, { id: row.id, until: Date.now() + settings.tokenTtl * 1000 });
  } else {
    remembered.delete(key);
    noteFailure(address);
  }
  return row?.id;
}

/** CRC-32 in base62, six digits, big end first. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < 6; index += 1) {
    digits = ALPHABET.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Whether an unknown token of an address may still be looked up; a token bucket. */
function mayFail(address: string): boolean {
  const now = performance.now();
  const account = accounts.get(address) ?? { left: BURST, at: now };
  account.left = Math.min(BURST, account.left + ((now - account.at) / 1000) * RATE);
  account.at = now;
  accounts.set(address, account);
  return account.left >= 1;
}

function noteFailure(address: string): void {
  const account = accounts.get(address);
  if (account) {
    account.left -= 1;
  }
}
