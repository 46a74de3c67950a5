import type { Data } from '../data.ts';
import { urlOf } from '../load.ts';
import type { Server } from '../server.ts';
import type { Workload } from '../workloads.ts';
import { masked } from './mask.ts';

/** Of every answer, as far as it has them. */
const HEADERS = ['Content-Type', 'RateLimit-Policy', 'RateLimit', 'Retry-After', 'WWW-Authenticate'];

/** An answer, as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a server answers to a workload, without what may differ: the requests themselves, and what can be seen of them later. */
export async function exchange(server: Server, workload: Workload, data: Data): Promise<unknown[]> {
  const url = await urlOf(workload, server, data);
  const { method = 'GET', body } = workload;
  // Its first requests went out with the first token.
  const token = data[workload.tokens][1] ?? '';
  const headers = { Authorization: `Bearer ${token}`, ...(body !== undefined && { 'Content-Type': 'application/json' }) };
  const send = (to: string) => fetch(to, { method, headers, ...(body !== undefined && { body }) }).then(answerOf);
  let answer = await send(url);
  // A limit has to be used up first.
  for (let left = Number(workload.limits.RATE_LIMIT); workload.status === 429 && left > 0; left -= 1) {
    answer = await send(url);
  }
  if (answer.status !== workload.status) {
    throw new Error(`The server "${server.kind.name}" answers "${workload.name}" with ${answer.status}, not ${workload.status}.`);
  }
  const answers = [answer];
  if (method === 'POST') {
    answers.push(await fetch(`${server.url}?limit=1`, { headers }).then(answerOf));
    await data.reset();
  } else if (typeof answer.body['nextCursor'] === 'string') {
    const next = new URL(url);
    next.searchParams.set('cursor', answer.body['nextCursor']);
    answers.push(await send(next.href));
  }
  return answers.map((one) => masked(one, workload));
}

async function answerOf(response: Response): Promise<Answer> {
  return {
    status: response.status,
    headers: Object.fromEntries(HEADERS.map((name) => [name, response.headers.get(name)])),
    body: (await response.json()) as Answer['body'],
  };
}
