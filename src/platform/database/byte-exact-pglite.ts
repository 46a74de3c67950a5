import { PGlite } from '@electric-sql/pglite';
import { Parser } from 'pg-protocol/dist/parser.js';

type Messages = Awaited<ReturnType<PGlite['execProtocolStream']>>;
type Options = Parameters<PGlite['execProtocolStream']>[1];

/**
 * PGlite whose answers are parsed as `pg` parses those of a server. PGlite's own parser takes U+FEFF at the start of a text
 * for a byte order mark and drops it.
 */
export class ByteExactPGlite extends PGlite {
  private readonly parser = new Parser();

  override async execProtocolStream(message: Uint8Array, options?: Options): Promise<Messages> {
    const bytes = await this.execProtocolRaw(message, options);
    const messages: unknown[] = [];
    this.parser.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), (parsed) => messages.push(parsed));
    return messages as Messages;
  }
}
