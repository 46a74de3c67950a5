import { Readable } from 'node:stream';
import { PGlite } from '@electric-sql/pglite';
import { parse } from 'pg-protocol';

type Messages = Awaited<ReturnType<PGlite['execProtocolStream']>>;
type Options = Parameters<PGlite['execProtocolStream']>[1];

/**
 * PGlite whose answers are parsed as `pg` parses those of a server. PGlite's own parser takes U+FEFF at the start of a text
 * for a byte order mark and drops it.
 */
export class ByteExactPGlite extends PGlite {
  override async execProtocolStream(message: Uint8Array, options?: Options): Promise<Messages> {
    const bytes = await this.execProtocolRaw(message, options);
    const messages: unknown[] = [];
    const stream = Readable.from([Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)]);
    await parse(stream, (parsed) => messages.push(parsed));
    return messages as Messages;
  }
}
