import { connect } from 'node:net';
import { PATIENCE } from './eventually.ts';

/** Milliseconds without a byte after which a response counts as whole. */
const SILENCE = 2000;

/** The same before the first byte. */
const FIRST_SILENCE = Math.min(30_000, PATIENCE * 500);

/** Everything that was received until the server closed the connection. */
export interface RawAnswer {
  status: number;
  headers: string;
  body: string;
}

/** Sends bytes and reads until the server closes the connection or falls silent, or until the first response is whole. */
export function sendRaw(port: number, bytes: string | Buffer, end: 'whole' | 'silence' = 'silence'): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    const finish = () => {
      socket.destroy();
      resolve(parse(text));
    };
    socket.setEncoding('latin1');
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk: string) => {
      text += chunk;
      socket.setTimeout(SILENCE);
      if (end === 'whole' && isWhole(parse(text))) finish();
    });
    socket.on('end', finish);
    socket.on('error', (error) => (text === '' ? reject(error) : finish()));
    socket.setTimeout(FIRST_SILENCE);
    socket.on('timeout', finish);
  });
}

/** A request as it is sent, the last one on its connection. @param line - method and target */
export function request(line: string, headers: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const fields = ['Host: x', 'Connection: close', ...headers, ...length];
  return `${line} HTTP/1.1\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n${body}`;
}

function isWhole({ headers, body }: RawAnswer): boolean {
  const [, length] = /^content-length: (\d+)$/m.exec(headers) ?? [];
  return length !== undefined && body.length >= Number(length);
}

function parse(text: string): RawAnswer {
  const [head = '', body = ''] = text.split(/\r\n\r\n([^]*)/);
  const [statusLine = '', ...headers] = head.split('\r\n');
  return { status: Number(statusLine.split(' ')[1] ?? 0), headers: headers.join('\n').toLowerCase(), body };
}
