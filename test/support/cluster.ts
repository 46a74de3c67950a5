import { writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Child, serverDirectory } from './child.js';
import { freePort } from './free-port.js';
import { HttpClient } from './http-client.js';
import { query } from './query.js';
import { ServiceProcess } from './process.js';

/**
 * Starts HAProxy, set so that it hides no failure: no retries, and any idle connection for any request. It strips `/catalog/`.
 *
 * @param ports - of its servers
 */
export async function startHaproxy(ports: readonly number[], wanted = ports.length) {
  const directory = serverDirectory('haproxy');
  const [port, socket, file] = [await freePort(), join(directory, 'stats'), join(directory, 'haproxy.cfg')];
  // Checks may be slow on a busy machine: only a wrong response or none marks a server as down. Idle connections stay for a test.
  const configuration = `
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
listen service
  bind 127.0.0.1:${port}
  balance roundrobin
  option forwardfor
  http-request redirect code 301 location /catalog/ if { path /catalog }
  http-request set-path %[path,regsub(^/catalog/,/)]
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host service
  http-check expect status 200
  default-server pool-purge-delay 60s inter 100ms fall 1 rise 1 check
${ports.map((server) => `  server ${server} 127.0.0.1:${server}`).join('\n')}
`;
  writeFileSync(file, configuration);
  /** A column of its statistics for each server that it sends requests to now. */
  const statistics = async (column: string) => {
    const table = await text(createConnection(socket).end('show stat -1 4 -1\n')).catch(() => '');
    const [header = [], ...rows] = table.split('\n').map((line) => line.split(','));
    const [status, at] = [header.indexOf('status'), header.indexOf(column)];
    return rows.filter((row) => row[status] === 'UP').map((row) => Number(row[at]));
  };
  /** Ports of the servers that it sends requests to now. */
  const up = () => statistics('svname');
  await new Child('haproxy', ['-db', '-f', file]).becomes(async () => (await up()).length === wanted);
  return { origin: `http://127.0.0.1:${port}`, statistics, up };
}

/** Starts HAProxy in front of databases, as the one address of all. @returns the URL of one, with its address */
export async function startDatabaseBalancer(urls: readonly string[]): Promise<string> {
  const [port, file] = [await freePort(), join(serverDirectory('haproxy'), 'haproxy.cfg')];
  const servers = urls.map((url) => new URL(url).host);
  writeFileSync(
    file,
    `
defaults
  mode tcp
  timeout connect 2s
  timeout client 60s
  timeout server 60s
listen databases
  bind 127.0.0.1:${port}
  balance roundrobin
  option redispatch
  default-server pool-purge-delay 60s inter 100ms fall 1 rise 1 check
${servers.map((server, index) => `  server database${index} ${server}`).join('\n')}
`,
  );
  const url = Object.assign(new URL(urls[0] ?? ''), { port }).href;
  await new Child('haproxy', ['-db', '-f', file]).becomes(async () => (await query(url, 'SELECT 1')).length === 1);
  return url;
}

/** Replicas of the service behind a load balancer. */
export class Cluster {
  private constructor(
    readonly processes: readonly ServiceProcess[],
    private readonly origin: string,
  ) {}

  /** @param environment - of each, with a database that has its migrations */
  static async start(size: number, environment: NodeJS.ProcessEnv): Promise<Cluster> {
    const ports: number[] = [];
    while (ports.length < size) ports.push(await freePort());
    const processes = await Promise.all(
      ports.map((port) => ServiceProcess.startReady({ ...environment, PORT: String(port) })),
    );
    return new Cluster(processes, (await startHaproxy(ports)).origin);
  }

  client(token: string, keepAlive = true): HttpClient {
    return new HttpClient(this.origin, token, keepAlive);
  }

  /** Ends every process as an operator does. @returns their exit codes */
  stop(): Promise<(number | null)[]> {
    return Promise.all(this.processes.map((process) => process.end('SIGTERM')));
  }
}
