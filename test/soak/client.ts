import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Fleet } from './fleet.ts';
import type { Instance } from './servers/instance.ts';
import type { Tally } from './tally.ts';

/** Longest silence that counts as slow and not as a hang, in milliseconds. */
const HANG = 40_000;

export interface Request {
  readonly method?: string;
  readonly path: string;
  readonly token?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  /** Milliseconds between the first byte of the body and the others. */
  readonly pause?: number;
  /** Disconnects after so many milliseconds. */
  readonly patience?: number;
  /** Address of this machine from which it is sent. */
  readonly from?: string;
  /** Instead of one that is ready. */
  readonly to?: Instance;
}

/** A response, or the reason why there is none; times by `performance.now()`. */
export interface Reply {
  /** 0 without a complete response. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly error: string;
  /** Of a problem, to find its cause. */
  readonly detail: string;
  readonly instance: Instance;
  readonly sent: number;
  readonly received: number;
}

type Whole = Pick<Reply, 'status' | 'headers' | 'body'>;

/** Requests that have no response yet. */
const pending = new Set<Promise<unknown>>();

/**
 * A client with a balancer of its own: it sends each request to the next instance that is ready, and retries nothing.
 * Node's agent does not use a connection again whose last response said `Connection: close`.
 */
export class Client {
  private readonly fleet: Fleet;
  private readonly tally: Tally;
  private readonly kind: string;
  private readonly agent: Agent;

  /** @param keepAlive - whether it keeps its connections for its next requests */
  constructor(fleet: Fleet, tally: Tally, kind: string, keepAlive = true) {
    this.fleet = fleet;
    this.tally = tally;
    this.kind = kind;
    this.agent = new Agent({ keepAlive, maxFreeSockets: 2 });
  }

  /** Sends a request and notes the outcome. @param expected - statuses that are right at any time; 0: no response */
  async send(options: Request, expected: readonly number[], kind = this.kind): Promise<Reply> {
    const exchange = this.exchange(options);
    pending.add(exchange);
    const reply = await exchange;
    pending.delete(exchange);
    this.tally.add(kind, reply, expected);
    return reply;
  }

  close(): void {
    this.agent.destroy();
  }

  private async exchange(options: Request): Promise<Reply> {
    const instance = options.to ?? this.fleet.next();
    const sent = performance.now();
    const response = await this.responseTo(options, instance).catch((error: unknown) => {
      const { code, message } = error as NodeJS.ErrnoException;
      return { status: 0, headers: {}, body: '', error: code ?? message };
    });
    const { status, body } = response;
    const detail = status >= 400 ? (/"detail":"([^"]{0,100})/.exec(body)?.[1] ?? '') : '';
    return { error: '', ...response, detail, instance, sent, received: performance.now() };
  }

  private responseTo(options: Request, { port }: Instance): Promise<Whole> {
    const { path, method = 'GET', from: localAddress, body, pause, patience = HANG } = options;
    return new Promise((resolve, reject) => {
      const target = { host: '127.0.0.1', port, path, method, agent: this.agent, localAddress, headers: headersOf(options) };
      const outgoing = request(target, (incoming) => {
        const { statusCode: status = 0, headers } = incoming;
        text(incoming).then((whole) => resolve({ status, headers, body: whole }), reject);
      });
      const timer = setTimeout(() => {
        outgoing.destroy(new Error(patience === HANG ? `silent for ${HANG} ms` : 'the client disconnected'));
      }, patience);
      outgoing.on('close', () => clearTimeout(timer));
      outgoing.on('error', reject);
      if (body === undefined || pause === undefined) {
        outgoing.end(body);
        return;
      }
      outgoing.write(body.slice(0, 1));
      setTimeout(() => outgoing.end(body.slice(1)), pause);
    });
  }
}

function headersOf({ token, headers, body }: Request): OutgoingHttpHeaders {
  return {
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
    ...headers,
  };
}

/** Waits for the responses to all requests. */
export async function allAnswered(): Promise<void> {
  await Promise.all(pending);
}
