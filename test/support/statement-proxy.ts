import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.js';
import type { Stage } from './tcp-proxy.js';

/** Where a connection is reset: when a statement arrives, or when PostgreSQL has run it and its response would be sent. */
export interface Reset {
  readonly at: RegExp;
  readonly stage: Stage;
  /** What the client is sent first; the connection then ends without a reset. */
  readonly error?: Buffer;
}

/** Splits what arrives into messages (PostgreSQL manual, "Message Formats"). @param hasType - false for a startup message, the first one of a client */
function* messagesIn(bytes: Buffer, hasType: boolean): Generator<Buffer> {
  for (let offset = 0, begin = hasType ? 1 : 0; bytes.length >= offset + begin + 4;) {
    const end = offset + begin + bytes.readInt32BE(offset + begin);
    if (bytes.length < end) return;
    yield bytes.subarray(offset, end);
    [offset, begin] = [end, 1];
  }
}

/** A hop to PostgreSQL that understands statements, also those that are prepared, and resets connections at certain ones. */
export class StatementProxy {
  reset: Reset | undefined;
  private port = 0;

  private constructor(private readonly target: URL) {}

  /** @param url - of any database of the server behind it */
  static async start(url: string): Promise<StatementProxy> {
    const proxy = new StatementProxy(new URL(url));
    proxy.port = await listen(createServer((client) => proxy.accept(client)));
    return proxy;
  }

  /** The same database by way of the proxy. */
  to(url: string): string {
    return Object.assign(new URL(url), { hostname: '127.0.0.1', port: this.port }).href;
  }

  private accept(client: Socket): void {
    const upstream = connect(Number(this.target.port || 5432), this.target.hostname);
    const end = () => {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    };
    for (const socket of [client, upstream])
      socket
        .setNoDelay()
        .on('error', () => undefined)
        .on('close', end);
    const statements = new Map<string, string>();
    let [isStarted, isShut, awaited, waiting, received] = [false, false, 0, Buffer.alloc(0), Buffer.alloc(0)];
    client.on('data', (chunk) => {
      waiting = Buffer.concat([waiting, Buffer.from(chunk)]);
      for (const message of messagesIn(waiting, isStarted)) {
        waiting = waiting.subarray(message.length);
        const text = isStarted ? statementIn(message, statements) : undefined;
        const isHere = text !== undefined && this.reset?.at.test(text);
        if (isHere && this.reset?.stage === 'before') {
          if (this.reset.error) client.end(this.reset.error);
          else end();
          return;
        }
        isShut ||= isHere === true;
        // Each of these has one ReadyForQuery as its response, as the startup has.
        awaited += !isStarted || message[0] === code('S') || message[0] === code('Q') ? 1 : 0;
        isStarted = true;
        upstream.write(message);
      }
    });
    upstream.on('data', (chunk) => {
      received = Buffer.concat([received, Buffer.from(chunk)]);
      for (const message of messagesIn(received, true)) {
        received = received.subarray(message.length);
        awaited -= message[0] === code('Z') ? 1 : 0;
        if (!isShut) client.write(message);
        else if (awaited === 0) end();
      }
    });
  }
}

function code(type: string): number {
  return type.charCodeAt(0);
}

/** The text of a statement that a message runs. @param statements - the prepared ones by name, which it fills */
function statementIn(message: Buffer, statements: Map<string, string>): string | undefined {
  const [first = '', second = ''] = message.toString('utf8', 5).split('\0', 2);
  switch (String.fromCharCode(message[0] ?? 0)) {
    case 'Q':
      return first;
    case 'P':
      statements.set(first, second);
      return undefined;
    case 'B':
      return statements.get(second);
    default:
      return undefined;
  }
}
