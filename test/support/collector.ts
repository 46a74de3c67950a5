import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from './listen.js';

/** A collector of traces over HTTP. */
export class Collector {
  /** The requests that it took. */
  readonly received: { path: string; headers: IncomingHttpHeaders; body: Buffer }[] = [];
  /** The status of its responses, or none at all; undefined while it takes spans. */
  fault: number | 'silence' | undefined;
  private readonly server = createServer((request, response) => void this.respond(request, response));
  private port = 0;

  static async start(): Promise<Collector> {
    const collector = new Collector();
    collector.port = await listen(collector.server);
    return collector;
  }

  /** @param credentials - as URLs have them, `user:password@` */
  environmentWith(credentials: string): { OTEL_EXPORTER_OTLP_ENDPOINT: string } {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${credentials}127.0.0.1:${this.port}` };
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '', headers } = request;
    const chunks = await request.toArray().catch(() => undefined);
    if (!chunks) {
      return;
    }
    if (this.fault === 'silence') {
      return;
    }
    if (this.fault === undefined) {
      this.received.push({ path, headers, body: Buffer.concat(chunks as Buffer[]) });
    }
    // A refusal may quote the request.
    response.writeHead(this.fault ?? 200).end(this.fault === undefined ? undefined : JSON.stringify(request.rawHeaders));
  }
}
