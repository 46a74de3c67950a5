import { Agent, request as send } from 'node:http';
import type { Answer } from '../../support/api.js';
import type { FuzzRequest } from './fuzz-request.js';

/** Longest silence that counts as slow and not as a hang, in milliseconds. */
const HANG = 15_000;

/** Sends requests as they are, on connections that are kept, and repeats nothing. */
export class Wire {
  private readonly agent = new Agent({ keepAlive: true });

  constructor(private readonly port: number) {}

  /** @throws Error when there is no whole answer: refused, reset, or silent for {@link HANG} */
  send({ method, target, headers, body }: FuzzRequest): Promise<Answer<unknown>> {
    const { agent, port } = this;
    const framing = body === undefined ? [] : [['Content-Length', String(Buffer.byteLength(body))]];
    const fields = [['Host', `127.0.0.1:${port}`], ...headers, ...framing].flat();
    return new Promise((resolve, reject) => {
      const outgoing = send({ host: '127.0.0.1', port, agent, method, path: target, headers: fields, timeout: HANG });
      outgoing.on('timeout', () => outgoing.destroy(new Error(`No answer for ${HANG} ms.`)));
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const received = new Headers();
          for (const [name, values] of Object.entries(response.headersDistinct))
            values?.forEach((value) => received.append(name, value));
          resolve({ status: response.statusCode ?? 0, headers: received, body: parse(Buffer.concat(chunks).toString()) });
        });
      });
      outgoing.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

/** What is not JSON is left as it is, for the document to judge. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
