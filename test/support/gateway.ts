import { once } from 'node:events';
import { createServer, type IncomingMessage, request as send, type ServerResponse } from 'node:http';
import { listen } from './listen.js';

/** Faults of a gateway: its own response, or a response that is lost, cut off, or never requested. */
export type Fault = { status: number; headers?: Record<string, string>; body?: string } | 'lose' | 'halve' | 'keep waiting';

/** A load balancer between clients and the service, which may fail in the ways that load balancers and networks do. */
export class Gateway {
  /** The `Idempotency-Key` of every request, in order. */
  readonly keys: (string | undefined)[] = [];
  /** Asked at each request; nothing is no fault. */
  decide: () => Fault | undefined = () => undefined;

  origin = '';
  private readonly server = createServer((request, response) => this.accept(request, response));

  private constructor(
    private readonly servicePort: number,
    private readonly path: string,
  ) {}

  /** @param path - which it has the service below, such as `/catalog`, and takes off before it passes requests on */
  static async start(servicePort: number, path = ''): Promise<Gateway> {
    const gateway = new Gateway(servicePort, path);
    gateway.origin = `http://127.0.0.1:${await listen(gateway.server)}`;
    return gateway;
  }

  /** These faults befall the next requests, one each. */
  failNext(...faults: Fault[]): void {
    this.keys.length = 0;
    this.decide = () => faults.shift();
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(request: IncomingMessage, response: ServerResponse): void {
    this.keys.push(request.headers['idempotency-key'] as string | undefined);
    const fault = this.decide();
    if (fault === 'keep waiting') return;
    if (typeof fault === 'object') {
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const { method, url = '', headers } = request;
    if (!url.startsWith(`${this.path}/`)) {
      response.writeHead(404).end();
      return;
    }
    const target = { port: this.servicePort, host: '127.0.0.1', method, path: url.slice(this.path.length), headers };
    const forwarded = send(target, (answer) => {
      if (fault === 'lose') {
        request.socket.resetAndDestroy();
        return;
      }
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      if (fault === 'halve') {
        answer.once('data', (part: Buffer) =>
          response.write(part.subarray(0, part.length / 2), () => request.socket.destroy()),
        );
      } else {
        answer.pipe(response);
      }
    });
    request.pipe(forwarded);
  }
}
