import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient, Reply } from './http-client.js';

/** One request of a load with its result; times are those of {@link Reply}. */
export interface Call {
  sent: number;
  received: number;
  /** 0 without a complete response. */
  status: number;
  result: Reply | Error;
}

const running = new Set<Load>();

// A failed test must not continue to send.
afterAll(() => Promise.all([...running].map((load) => load.stop())));

/** Clients that send requests one after another until they are stopped. */
export class Load {
  readonly calls: Call[] = [];
  private readonly stopping = new AbortController();
  private readonly clients: Promise<void>[];

  /** @param clients - each sends its next request so many milliseconds after the previous response */
  constructor(clients: readonly HttpClient[], send: (client: HttpClient) => Promise<Reply>, pause: number) {
    this.clients = clients.map((client) => this.run(() => send(client), pause));
    running.add(this);
  }

  /** Waits for running requests. @returns all calls */
  async stop(): Promise<Call[]> {
    running.delete(this);
    this.stopping.abort();
    await Promise.all(this.clients);
    return this.calls;
  }

  private async run(send: () => Promise<Reply>, pause: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const sent = performance.now();
      const result = await send().catch((error: unknown) => error as Error);
      const failed = { sent, received: performance.now(), status: 0 };
      const { received, status, sent: begun } = Error.isError(result) ? failed : result;
      this.calls.push({ sent: begun, received, status, result });
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** How often each status, or reason for there being none, occurs in calls. */
export function outcomesOf(calls: readonly Pick<Call, 'status' | 'result'>[]): Record<string, number> {
  const outcomes = calls.map(({ status, result }) => (Error.isError(result) ? result.message : String(status)));
  const counts = Object.groupBy(outcomes, (outcome) => outcome);
  return Object.fromEntries(Object.entries(counts).map(([outcome, of = []]) => [outcome, of.length]));
}

export function statusesOf(replies: readonly Reply[]): Record<string, number> {
  return outcomesOf(replies.map((result) => ({ status: result.status, result })));
}

/** Calls that the rate limit let pass. */
export function admittedOf(calls: readonly Call[]): Call[] {
  return calls.filter(({ status }) => status === 200 || status === 201);
}

/** The largest number of calls that were certainly decided, between request and response, within so many milliseconds. */
export function mostInAnyWindow(calls: readonly Call[], length: number): number {
  const countFrom = (start: number) =>
    calls.filter(({ sent, received }) => sent >= start && received < start + length).length;
  return Math.max(0, ...calls.map(({ sent }) => countFrom(sent)));
}
