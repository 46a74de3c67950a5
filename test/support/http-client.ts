import { once } from 'node:events';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { EVENT_STREAM } from './api.js';

/** A response with its bytes, and the monotonic times in milliseconds of the start of its request and of its end. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  sent: number;
  received: number;
}

/** Longest silence that counts as slow and not as a hang, in milliseconds: the `timeout` of requests. */
export const HANG = 15_000;

/**
 * The whole response, or the first part of an event stream, which has no end.
 *
 * @throws Error without a complete response: refused, reset, or silent for {@link HANG}
 */
export function answerTo(outgoing: ClientRequest): Promise<{ response: IncomingMessage; body: string }> {
  return new Promise((resolve, reject) => {
    outgoing.on('timeout', () => outgoing.destroy(new Error(`No answer for ${HANG} ms.`)));
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const isStream = EVENT_STREAM.test(response.headers['content-type'] ?? '');
      const body = isStream ? once(response, 'data').then(String) : text(response);
      void body.then((whole) => resolve({ response: isStream ? response.destroy() : response, body: whole }), reject);
    });
  });
}

const agents = new Set<Agent>();

afterAll(() => agents.forEach((agent) => agent.destroy()));

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
    agents.add(this.agent);
  }

  /** @throws Error without a complete response: refused, reset, or silent for {@link HANG} */
  async send(path: string, init: { method?: string; headers?: OutgoingHttpHeaders; body?: string } = {}): Promise<Reply> {
    const { method = 'GET', headers = {}, body = '' } = init;
    const sent = performance.now();
    const fields = {
      Authorization: `Bearer ${this.token}`,
      ...(body && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
      ...headers,
    };
    const outgoing = request(this.origin + path, { method, agent: this.agent, headers: fields, timeout: HANG });
    const answered = answerTo(outgoing);
    outgoing.end(body);
    const { response, body: whole } = await answered;
    return { status: response.statusCode ?? 0, headers: response.headers, body: whole, sent, received: performance.now() };
  }

  list(query = 'limit=1'): Promise<Reply> {
    return this.send(`/v1/items?${query}`);
  }

  create(name: string, headers: OutgoingHttpHeaders = {}): Promise<Reply> {
    return this.send('/v1/items', { method: 'POST', headers, body: JSON.stringify({ name }) });
  }
}
