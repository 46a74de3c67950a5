import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { countProcessorTime } from './processes.ts';

/** Requests that take turns. */
export interface Load {
  /** Of the server; paths are in the requests. */
  readonly url: string;
  /** As they are sent. `{word}` and `{key}` in them are other numbers each time: of 10,000, and of all. */
  readonly requests: readonly string[];
  /** Share of the responses that must have a status of 400 or more. */
  readonly refused?: number;
  readonly connections?: number;
}

/** The outcome of a load; times in microseconds. */
export interface Outcome {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  /** Responses with a status of 400 and more. */
  readonly refused: number;
  readonly broken: number;
}

interface RequestOptions {
  readonly body?: string | undefined;
  /** Whether each request has an `Idempotency-Key` of its own. */
  readonly isKeyed?: boolean | undefined;
}

/** A request for each token. */
export function requestsOf(url: string, tokens: readonly string[], { body, isKeyed }: RequestOptions = {}): string[] {
  const { pathname, search, host } = new URL(url);
  const key = randomUUID();
  const line = `${body === undefined ? 'GET' : 'POST'} ${pathname}${search} HTTP/1.1`;
  return tokens.map((token) => {
    const fields = [
      `Host: ${host}`,
      `Authorization: Bearer ${token}`,
      ...(isKeyed ? [`Idempotency-Key: ${key}-{key}`] : []),
      ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
    ];
    return `${[line, ...fields].join('\r\n')}\r\n\r\n${body ?? ''}`;
  });
}

/** @throws Error when responses were not of the kind that the load is about */
export function checked(load: Load, outcome: Outcome): Outcome {
  const { requests, refused, broken } = outcome;
  const expected = load.refused ?? 0;
  const isExpected = expected % 1 === 0 ? refused === expected * requests : Math.abs(refused / requests - expected) < 0.02;
  if (requests === 0 || broken > 0 || !isExpected) {
    throw new Error(
      `${load.url}: ${requests} requests, ${refused} with a status of 400 or more, ${broken} without a response.`,
    );
  }
  return outcome;
}

/** Sends a load, and adds the microseconds of CPU time that a process takes for each request. */
export async function withProcessorTime(
  pid: number,
  send: () => Promise<Outcome>,
): Promise<Outcome & { readonly processor: number }> {
  const processorTime = countProcessorTime([pid]);
  const outcome = await send();
  // For the requests that wrk gave up at its end.
  await delay(20);
  return { ...outcome, processor: processorTime() / outcome.requests };
}
