import { createHash } from 'node:crypto';

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
  /** Searched texts in lower case, each with its description: `canary: spelling`. */
  private readonly pieces = new Map<string, string>();

  /** @param value - without its public prefix or header. @param whole - with it */
  add(canary: string, value: string, whole = value): void {
    this.values.set(canary, value);
    this.addPieces(`${canary}: text`, value, LETTERS);
    this.addBytes(`${canary}: `, Buffer.from(value));
    for (const text of [value, whole]) this.addBytes(`${canary}: ${DIGEST}`, createHash('sha256').update(text).digest());
  }

  /** The canaries in a text or a file, each once, as `canary: spelling`. */
  findIn(text: string | Buffer): string[] {
    const pattern = new RegExp([...this.pieces.keys()].map((piece) => piece.replaceAll(/\W/g, '\\$&')).join('|'), 'g');
    const found = text.toString('latin1').toLowerCase().match(pattern) ?? [];
    return [...new Set(found.map((piece) => this.pieces.get(piece) ?? ''))].toSorted();
  }

  /** The same where digests may be. */
  findUndigestedIn(text: string | Buffer): string[] {
    return this.findIn(text).filter((found) => !found.includes(`: ${DIGEST}`));
  }

  private addBytes(name: string, bytes: Buffer): void {
    // With any text around it, such as `user:`.
    for (const before of [0, 1, 2]) {
      const padded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
      this.addPieces(`${name}base64`, padded.slice(2, Math.floor(((before + bytes.length) * 8) / 6)), LETTERS);
    }
    this.addPieces(`${name}hex`, bytes.toString('hex'), DIGITS);
    this.addPieces(`${name}Buffer`, bytes.toString('hex').replaceAll(/..(?!$)/g, '$& '), SEPARATED);
    this.addPieces(`${name}list`, bytes.join(','), SEPARATED);
  }

  private addPieces(sighting: string, text: string, length: number): void {
    for (let start = 0; start <= text.length - length; start += length / 2) {
      this.pieces.set(text.slice(start, start + length).toLowerCase(), sighting);
    }
  }
}
