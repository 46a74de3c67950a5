import { createHash } from 'node:crypto';

/** What a text holds: a piece of a canary, in some spelling. */
interface Sighting {
  canary: string;
  spelling: string;
}

const DIGEST = 'SHA-256 ';

/** Lengths of the pieces in which spellings are looked for: long enough that none is met by chance. */
const LETTERS = 10;
const DIGITS = 16;
const SEPARATED = 24;

/**
 * Secrets that must not be found where secrets do not belong. Each is looked for in several spellings, as is its SHA-256, and
 * in pieces, so that it is found without its prefix or cut short as well: whatever is half as long again as a piece.
 */
export class Canaries {
  /** All of them, by name. */
  readonly values = new Map<string, string>();
  /** By their length, and in lower case, what there is to look for. */
  private readonly pieces = new Map<number, Map<string, Sighting>>();

  /**
   * @param value - without what may be known: a prefix or a header
   * @param whole - with that
   */
  add(canary: string, value: string, whole = value): void {
    this.values.set(canary, value);
    this.addText({ canary, spelling: 'text' }, value);
    this.addBytes(canary, '', Buffer.from(value));
    this.addBytes(canary, DIGEST, createHash('sha256').update(value).digest());
    this.addBytes(canary, DIGEST, createHash('sha256').update(whole).digest());
  }

  /** What is in a text or a file, each once, as `canary: spelling`. */
  findIn(text: string | Buffer): string[] {
    const bytes = Buffer.from(text.toString('latin1').toLowerCase(), 'latin1');
    const found = [...this.pieces].flatMap(([length, pieces]) => search(bytes, length, pieces));
    return [...new Set(found.map(({ canary, spelling }) => `${canary}: ${spelling}`))].toSorted();
  }

  /** The same where digests may be. */
  findUndigestedIn(text: string | Buffer): string[] {
    return this.findIn(text).filter((found) => !found.includes(`: ${DIGEST}`));
  }

  private addText(sighting: Sighting, text: string, length = LETTERS): void {
    if (text.length < length) {
      throw new Error(`${sighting.canary} as ${sighting.spelling} is too short to be distinguished from other texts.`);
    }
    const pieces = this.pieces.get(length) ?? new Map<string, Sighting>();
    this.pieces.set(length, pieces);
    for (let start = 0; start <= text.length - length; start += length / 2) {
      pieces.set(text.slice(start, start + length).toLowerCase(), sighting);
    }
    pieces.set(text.slice(-length).toLowerCase(), sighting);
  }

  private addBytes(canary: string, what: string, bytes: Buffer): void {
    for (const encoding of ['base64', 'base64url'] as const) {
      for (const text of within(bytes, encoding)) this.addText({ canary, spelling: `${what}base64` }, text);
    }
    const pairs = [...bytes].map((byte) => byte.toString(16).padStart(2, '0'));
    this.addText({ canary, spelling: `${what}hex` }, pairs.join(''), DIGITS);
    this.addText({ canary, spelling: `${what}Buffer` }, pairs.join(' '), SEPARATED);
    this.addText({ canary, spelling: `${what}percent` }, `%${pairs.join('%')}`, SEPARATED);
    this.addText({ canary, spelling: `${what}list` }, bytes.join(','), SEPARATED);
  }
}

/** What base64 makes of some bytes, whatever stands before and behind them: `user:` perhaps. */
function within(bytes: Buffer, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    return padded.toString(encoding).slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6));
  });
}

/** One pass for all pieces of a length, of which few positions are worth a closer look: files can be large. */
function search(bytes: Buffer, length: number, pieces: ReadonlyMap<string, Sighting>): Sighting[] {
  const beginnings = new Uint8Array(0x10_0000);
  for (const piece of pieces.keys()) beginnings[beginningAt(Buffer.from(piece, 'latin1'), 0)] = 1;
  const found: Sighting[] = [];
  for (let start = 0; start <= bytes.length - length; start += 1) {
    const sighting =
      beginnings[beginningAt(bytes, start)] === 1 ? pieces.get(bytes.toString('latin1', start, start + length)) : undefined;
    if (sighting) {
      found.push(sighting);
    }
  }
  return found;
}

/** A number of 20 bits for four bytes, different for most of them. */
function beginningAt(bytes: Buffer, start: number): number {
  const at = (offset: number) => bytes[start + offset] ?? 0;
  return (at(0) << 12) ^ (at(1) << 8) ^ (at(2) << 4) ^ at(3);
}
