import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { SERVICE_NAME } from '../service/service.js';

/** Prefix of every access token, by which secret scanners find it. */
export const TOKEN_PREFIX = `${SERVICE_NAME}_`;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const FORMAT = new RegExp(`^${TOKEN_PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** A new access token: the prefix, 30 random base62 characters (178 bits), and a checksum of both. */
export function generateToken(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
  return TOKEN_PREFIX + random + checksum(TOKEN_PREFIX + random);
}

/** Whether a text has the form and checksum of a token. Mistyped tokens need no look-up. */
export function isWellFormedToken(text: string): boolean {
  return FORMAT.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));
}

/** Hexadecimal SHA-256, stored instead of a credential. A token has enough entropy to need neither salt nor a slow hash. */
export function tokenDigest(credential: string): string {
  return hash('sha256', credential);
}

/** CRC-32 in base62, most significant digit first. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  while (digits.length < CHECKSUM_LENGTH) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

/** Describes valid names in messages, after "write". */
export const TOKEN_NAME_RULE = '1 to 100 printable characters';

export function isTokenName(text: string): boolean {
  return isPrintableLine(text, 100) && text.trim() !== '';
}

/** Whether a text has 1 to `longest` characters, none of them a control, bidirectional mark or line break. */
export function isPrintableLine(text: string, longest: number): boolean {
  return text.isWellFormed() && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(text) && Array.from(text).length <= longest;
}
