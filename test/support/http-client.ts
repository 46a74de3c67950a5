import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { answerTo, HANG } from './answer-to.js';

/** An answer with its bytes, and when its request began to be sent and it had arrived whole, in monotonic milliseconds. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  sent: number;
  received: number;
}

export interface HttpRequest {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string;
}

const clients = new Set<HttpClient>();

afterAll(() => clients.forEach((client) => client.close()));

/** A client that repeats nothing by itself, unlike `fetch`, so that every failure is seen. */
export class HttpClient {
  private readonly agent: Agent;

  /** @param keepAlive - whether it keeps its connection for its next request */
  constructor(
    private readonly origin: string,
    private readonly token: string,
    keepAlive: boolean,
  ) {
    this.agent = new Agent({ keepAlive });
    clients.add(this);
  }

  /** @throws Error when there is no whole answer: refused, reset, or silent for {@link HANG} */
  async send(path: string, { method = 'GET', headers = {}, body = '' }: HttpRequest = {}): Promise<Reply> {
    const sent = performance.now();
    const fields = {
      Authorization: `Bearer ${this.token}`,
      ...(body && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
      ...headers,
    };
    const outgoing = request(this.origin + path, { method, agent: this.agent, headers: fields, timeout: HANG });
    const whole = answerTo(outgoing);
    outgoing.end(body);
    const { response, body: text } = await whole;
    const { statusCode: status = 0, headers: received } = response;
    return { status, headers: received, body: text, sent, received: performance.now() };
  }

  list(query = 'limit=1'): Promise<Reply> {
    return this.send(`/v1/items?${query}`);
  }

  create(name: string, headers: OutgoingHttpHeaders = {}): Promise<Reply> {
    return this.send('/v1/items', { method: 'POST', headers, body: JSON.stringify({ name }) });
  }

  close(): void {
    clients.delete(this);
    this.agent.destroy();
  }
}
