import { writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { Daemon, serverDirectory } from './daemon.js';
import { freePort } from './free-port.js';

/** HAProxy in front of service processes, set so that it hides no failure: no retries, and any idle connection for any request. */
export class Haproxy {
  private constructor(
    readonly origin: string,
    private readonly socket: string,
  ) {}

  /** @param ports - of the servers @param wanted - how many of them must be ready to begin with */
  static async start(ports: readonly number[], wanted = ports.length): Promise<Haproxy> {
    const directory = serverDirectory('haproxy');
    const [port, socket, file] = [await freePort(), join(directory, 'stats'), join(directory, 'haproxy.cfg')];
    writeFileSync(file, configuration(port, socket, ports));
    const haproxy = new Haproxy(`http://127.0.0.1:${port}`, socket);
    await new Daemon('haproxy', ['-db', '-f', file]).becomes(async () => (await haproxy.up()).length === wanted);
    return haproxy;
  }

  /** Ports of the servers that it sends requests to now. */
  async up(): Promise<number[]> {
    const table = await text(createConnection(this.socket).end('show stat -1 4 -1\n')).catch(() => '');
    const [header = [], ...rows] = table.split('\n').map((line) => line.split(','));
    const [status, name] = [header.indexOf('status'), header.indexOf('svname')];
    return rows.filter((row) => row[status] === 'UP').map((row) => Number(row[name]));
  }
}

/** Checks may be slow on a busy machine: only a wrong response or none marks a server as down. */
function configuration(port: number, socket: string, servers: readonly number[]): string {
  return `
global
  maxconn 4000
  nbthread 1
  stats socket ${socket} mode 600
defaults
  mode http
  retries 0
  no option redispatch
  http-reuse always
  timeout connect 2s
  timeout check 5s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
listen items
  bind 127.0.0.1:${port}
  balance roundrobin
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host items
  http-check expect status 200
  default-server inter 100ms fall 1 rise 1 check
${servers.map((server) => `  server ${server} 127.0.0.1:${server}`).join('\n')}
`;
}
