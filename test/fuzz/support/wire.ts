import { Agent, request } from 'node:http';
import { answerTo, HANG } from '../../support/answer-to.js';
import type { Answer } from '../../support/api.js';
import type { FuzzRequest } from './fuzz-request.js';

/** Sends requests as they are, on connections that are kept, and repeats nothing. */
export class Wire {
  private readonly agent = new Agent({ keepAlive: true });

  constructor(private readonly port: number) {}

  /** @throws Error when there is no whole answer: refused, reset, or silent for {@link HANG} */
  async send({ method, target, headers, body }: FuzzRequest): Promise<Answer<unknown>> {
    const { agent, port } = this;
    const framing = body === undefined ? [] : [['Content-Length', String(Buffer.byteLength(body))]];
    const fields = [['Host', `127.0.0.1:${port}`], ...headers, ...framing].flat();
    const outgoing = request({ host: '127.0.0.1', port, agent, method, path: target, headers: fields, timeout: HANG });
    const whole = answerTo(outgoing);
    outgoing.end(body);
    const { response, body: text } = await whole;
    const received = new Headers();
    for (const [name, values] of Object.entries(response.headersDistinct))
      values?.forEach((value) => received.append(name, value));
    return { status: response.statusCode ?? 0, headers: received, body: parse(text) };
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
