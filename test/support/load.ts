import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient, Reply } from './http-client.js';

/** One request of a load and what became of it; times are those of {@link Reply}. */
export interface Call {
  sent: number;
  received: number;
  /** 0 when no whole answer came back. */
  status: number;
  result: Reply | Error;
}

const running = new Set<Load>();

// A test that fails must not go on sending.
afterAll(() => Promise.all([...running].map((load) => load.stop())));

/** Requests that clients go on sending, each one after the other, until they are stopped. */
export class Load {
  readonly calls: Call[] = [];
  private readonly stopping = new AbortController();
  private readonly clients: Promise<void>[];

  /** @param clients - each sends its next request so many milliseconds after the response to the one before */
  constructor(clients: readonly HttpClient[], send: (client: HttpClient) => Promise<Reply>, pause: number) {
    this.clients = clients.map((client) => this.run(() => send(client), pause));
    running.add(this);
  }

  /** Lets what is under way end. @returns every call that was made */
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

/** The largest number of calls that are certain to have been decided, between request and response, within so many milliseconds. */
export function mostInAnyWindow(calls: readonly Call[], length: number): number {
  const countFrom = (start: number) => calls.filter(({ sent, received }) => sent >= start && received < start + length).length;
  return Math.max(0, ...calls.map(({ sent }) => countFrom(sent)));
}
