import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { SERVICE_NAME } from '../config/configuration.js';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const PREFIX = `${SERVICE_NAME}_`;
const FORMAT = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * A new access token: a prefix that secret scanners can look for, 30 random base62 characters (178 bits), and a checksum
 * of all that, by which a mistyped token is recognised without asking the database.
 */
export function generateToken(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
  return PREFIX + random + checksum(PREFIX + random);
}

/** Whether a text claims to be a token of this service. */
export function hasTokenPrefix(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Whether a text has the form of a token and its checksum fits. Says nothing about whether it was ever issued. */
export function isWellFormedToken(token: string): boolean {
  return FORMAT.test(token) && token.slice(-CHECKSUM_LENGTH) === checksum(token.slice(0, -CHECKSUM_LENGTH));
}

/** The last four characters, which are of the checksum and give nothing of the rest away. */
export function lastFourOf(token: string): string {
  return token.slice(-4);
}

/** How a token is shown to those who may not see it. */
export function shorten(lastFour: string | null): string {
  return `${PREFIX}…${lastFour ?? ''}`;
}

/** What is stored of a token: its SHA-256. The token has enough entropy to need no salt and no slow hash. */
export function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** The same in hexadecimal digits, the key of a credential in memory. */
export function fingerprintOf(credential: string): string {
  return hash('sha256', credential);
}

/** CRC-32 in base62, big end first, six characters. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

/** What a name must be, to be read after "Write". */
export const TOKEN_NAME_RULE = '1 to 100 printable characters';

/** Whether a text can name a token: it fits into a line of `token list`, and people can read it. */
export function isTokenName(text: string): boolean {
  return isPrintableLine(text, 100) && text.trim() !== '';
}

/**
 * Whether a text fits into a line of the log and of a terminal: not empty, and without controls, changes of the direction of writing
 * and ends of lines.
 *
 * @param longest - in characters (code points)
 */
export function isPrintableLine(text: string, longest: number): boolean {
  return text.isWellFormed() && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(text) && Array.from(text).length <= longest;
}
