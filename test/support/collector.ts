import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ExportedSpan, readTraces } from './otlp.js';

/** A collector of traces, with OTLP over HTTP. */
export class Collector {
  /** Everything that it was sent, byte by byte. */
  readonly received: { path: string; headers: IncomingHttpHeaders; body: Buffer }[] = [];
  /** What it answers instead of taking spans: a status, or nothing at all. */
  fault: number | 'silence' | undefined;
  private server: Server | undefined;
  private port = 0;

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await collector.listen();
    return collector;
  }

  get environment(): { OTEL_EXPORTER_OTLP_ENDPOINT: string } {
    return this.environmentWith('');
  }

  /** @param credentials - as URLs have them, `user:password@` */
  environmentWith(credentials: string): { OTEL_EXPORTER_OTLP_ENDPOINT: string } {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${credentials}127.0.0.1:${this.port}` };
  }

  /** Takes the port that it had before, if it had one. */
  async listen(): Promise<void> {
    this.server = createServer((request, response) => void this.answer(request, response));
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  /** All spans that it took. */
  get spans(): ExportedSpan[] {
    return this.received.flatMap(({ body }) => readTraces(body));
  }

  /** Those of one trace, in the order of their beginning. */
  trace(traceId: string): ExportedSpan[] {
    const spans = this.spans.filter((span) => span.traceId === traceId);
    return spans.toSorted((a, b) => Number(a.start - b.start));
  }

  /** The same as a tree: a line for each, indented below its parent, `kind name`. */
  tree(traceId: string): string[] {
    const spans = this.trace(traceId);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const below = (parentId: string, depth: number): string[] =>
      spans
        .filter((span) => span.parentId === parentId)
        .flatMap(({ kind, name, spanId }) => [`${'  '.repeat(depth)}${kind} ${name}`].concat(below(spanId, depth + 1)));
    const outside = new Set(spans.map(({ parentId }) => parentId).filter((id) => !ids.has(id)));
    return [...outside].flatMap((id) => below(id, 0));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = await request.toArray().catch(() => undefined);
    if (!chunks || this.fault === 'silence') {
      return;
    }
    if (this.fault === undefined) {
      this.received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks as Buffer[]) });
    }
    // Whoever refuses may say what was wrong.
    const body = this.fault === undefined ? undefined : JSON.stringify(request.rawHeaders);
    response.writeHead(this.fault ?? 200, { 'Content-Type': 'application/x-protobuf' }).end(body);
  }
}
