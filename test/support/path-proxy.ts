import { once } from 'node:events';
import { createServer, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that has the service below a path of its own, and takes that off before it passes requests on. */
export class PathProxy {
  private constructor(
    private readonly server: Server,
    private readonly path: string,
  ) {}

  /** @param path - such as `/catalogue` */
  static async start(servicePort: number, path: string): Promise<PathProxy> {
    const server = createServer((request, response) => {
      const { method, headers, url = '' } = request;
      if (!url.startsWith(`${path}/`)) {
        response.writeHead(404).end();
        return;
      }
      const target = { port: servicePort, host: '127.0.0.1', method, path: url.slice(path.length), headers };
      request.pipe(send(target, (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers))));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PathProxy(server, path);
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Address of the service's `/`. */
  get root(): string {
    return `${this.origin}${this.path}/`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
