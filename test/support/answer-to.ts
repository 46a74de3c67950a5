import type { ClientRequest, IncomingMessage } from 'node:http';

/** Longest silence that counts as slow and not as a hang, in milliseconds: the `timeout` of requests. */
export const HANG = 15_000;

export interface WholeAnswer {
  response: IncomingMessage;
  body: string;
}

/** @throws Error when there is no whole answer: refused, reset, or silent for {@link HANG} */
export function answerTo(outgoing: ClientRequest): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on('timeout', () => outgoing.destroy(new Error(`No answer for ${HANG} ms.`)));
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ response, body: Buffer.concat(chunks).toString() });
      });
    });
  });
}
