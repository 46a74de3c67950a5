import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from './cluster.js';
import type { HttpClient, Reply } from './http-client.js';
import { admittedOf, type Call, Load, mostInAnyWindow, outcomesOf, statusesOf } from './load.js';
import { eventually } from './service.js';
import { createTestDatabase, databaseUrlOf } from './test-database.js';
import { issueTokens } from './tokens.js';

const REPLICAS = 4;

/** Milliseconds between two attempts. */
const PAUSE = 500;

/** Milliseconds beyond a window for which a process that was away keeps to its part, and a little. */
const KEEPS_TO_PART = 2500;

/** A failure of Redis under load. */
export interface Fault {
  /** Milliseconds for which it lasts after every process has noticed it. */
  lasts?: number;
  begin: () => Promise<unknown>;
  /** Undoes it. Once this is done, Redis works. */
  end: () => Promise<unknown>;
  /** Whether Redis works at times in between, so that processes may come and go more often than once. */
  isIntermittent?: boolean;
}

/** When every process decided alone, by `performance.now()`. */
interface Alone {
  from: number;
  until: number;
}

/** How often each process began to count alone, and with the others again. */
type StorageChanges = { away: number; back: number }[];

const CHANGES = 'items_rate_limit_storage_changes_total';

/** Four processes that share a limit by means of a Redis that fails. */
export class SharedLimit {
  /** The share of each process. */
  readonly part: number;

  private constructor(
    readonly environment: NodeJS.ProcessEnv & { DATABASE_URL: string },
    readonly cluster: Cluster,
    /** Calls of each token in a window. */
    readonly limit: number,
    readonly window: number,
  ) {
    this.part = limit / REPLICAS;
  }

  /**
   * @param url - of Redis
   * @param window - in seconds
   */
  static async start(url: string, limit = 40, window = 2): Promise<SharedLimit> {
    const environment = {
      DATABASE_URL: databaseUrlOf(await createTestDatabase()),
      RATE_LIMIT: String(limit),
      RATE_LIMIT_WINDOW: String(window),
      RATE_LIMIT_REPLICAS: String(REPLICAS),
      REDIS_URL: url,
    };
    return new SharedLimit(environment, await Cluster.start(REPLICAS, environment), limit, window * 1000);
  }

  /** @param limit - of each, instead of that of all */
  newTokens(count: number, limit?: number): Promise<string[]> {
    return issueTokens(this.environment.DATABASE_URL, count, limit);
  }

  private async newClient(): Promise<HttpClient> {
    const [token = ''] = await this.newTokens(1);
    // Connections that were kept would in the end be more than the balancer has.
    return this.cluster.client(token, false);
  }

  /** Many more calls than the limit, over all processes, for longer than it takes to reach the limit. */
  private async hammer(token: string): Promise<Load> {
    const clients = Array.from({ length: 3 }, () => this.cluster.client(token));
    const load = new Load(clients, (client) => client.list(), 40);
    await eventually(() => load.calls.some(({ status }) => status === 429));
    return load;
  }

  /** Commits faults under load, one after the other, and expects all that holds before, during and after every fault. */
  async examine(...faults: Fault[]): Promise<void> {
    const tokens = await this.newTokens(2);
    await this.isShared();
    // One that was away keeps to its part for a window and 2 seconds, and does not ask Redis about tokens that have used it up.
    if ((await this.changes()).some(({ back }) => back > 0)) await delay(this.window + KEEPS_TO_PART);
    const loads = await Promise.all(tokens.map((token) => this.hammer(token)));
    const alone: Alone[] = [];
    for (const fault of faults) alone.push(await this.commit(fault));
    await delay(this.window);
    for (const load of loads) this.expectBound(await load.stop(), alone);
    await this.expectShared();
  }

  private async commit({ lasts = 0, begin, end, isIntermittent }: Fault): Promise<Alone> {
    const before = await this.isShared();
    await begin();
    try {
      await this.expectAlone(before, isIntermittent);
      const from = performance.now();
      await delay(lasts);
      return { from, until: performance.now() };
    } finally {
      await end();
      await this.expectBack(before);
    }
  }

  /** @returns the changes of that moment: one that left after another look would already count as away */
  private async isShared(): Promise<StorageChanges> {
    let changes: StorageChanges = [];
    await eventually(async () => {
      changes = await this.changes();
      return changes.every(({ away, back }) => away === back);
    });
    return changes;
  }

  /**
   * All processes together admit exactly the limit of a token, and count it down. On a busy machine, Redis can be slower for a moment than
   * a process waits for it: then another token is tried.
   *
   * @returns a client with that token
   */
  async expectShared(): Promise<HttpClient> {
    const exactly = JSON.stringify([
      { 200: this.limit, 429: this.limit + 20 },
      Array.from({ length: this.limit }, (_, index) => index),
    ]);
    let client = await this.newClient();
    await eventually(async () => {
      client = await this.newClient();
      const replies = await burst(client, 2 * this.limit + 20);
      const remaining = replies.filter(({ status }) => status === 200).map(remainingOf);
      await delay(PAUSE);
      return JSON.stringify([statusesOf(replies), remaining.toSorted((a, b) => a - b)]) === exactly;
    });
    return client;
  }

  /** Every process shows in its metrics that it counts alone, and is ready nevertheless. */
  async expectAlone(before: StorageChanges, isIntermittent = false): Promise<void> {
    await eventually(async () => (await this.changes()).every(({ away }, place) => away > (before[place]?.away ?? 0)));
    for (const process of this.cluster.processes) {
      expect((await fetch(`${process.origin}/readyz`)).status).toBe(200);
      // On a busy machine one may have left, and come back, just before.
      if (!isIntermittent) await eventually(async () => (await process.metric('items_rate_limit_shared')) === 0);
    }
  }

  async expectBack(before: StorageChanges): Promise<void> {
    await this.isShared();
    const changes = (await this.changes()).map(({ back }, place) => back - (before[place]?.back ?? 0));
    expect(Math.min(...changes)).toBeGreaterThanOrEqual(1);
    for (const process of this.cluster.processes) {
      await eventually(async () => (await process.metric('items_rate_limit_shared')) === 1);
    }
  }

  changes(): Promise<StorageChanges> {
    return Promise.all(
      this.cluster.processes.map(async (process) => ({
        away: (await process.metric(`${CHANGES}{to="process"}`)) ?? 0,
        back: (await process.metric(`${CHANGES}{to="redis"}`)) ?? 0,
      })),
    );
  }

  /** Expects 200 and 429 only, the documented bounds, and admitted calls while each process decided alone. */
  private expectBound(calls: readonly Call[], alone: readonly Alone[]): void {
    const admitted = admittedOf(calls);
    expect(Object.keys(outcomesOf(calls)).toSorted()).toEqual(['200', '429']);
    // The window that spans the loss: limit × (2 − 1/N).
    expect(mostInAnyWindow(admitted, this.window)).toBeLessThanOrEqual(this.limit + (REPLICAS - 1) * this.part);
    const later = admitted.filter(({ sent }) => sent > (alone[0]?.from ?? 0));
    expect(mostInAnyWindow(later, this.window)).toBeLessThanOrEqual(this.limit);
    for (const { from, until } of alone.filter((each) => each.until - each.from > this.window)) {
      expect(later.filter(({ sent, received }) => sent > from && received < until)).not.toEqual([]);
    }
  }
}

function remainingOf({ headers }: Reply): number {
  return Number(/;r=(\d+);/.exec(String(headers['ratelimit']))?.[1]);
}

export function burst(client: HttpClient, count: number): Promise<Reply[]> {
  return Promise.all(Array.from({ length: count }, () => client.list()));
}

export async function admittedOfBurst(client: HttpClient, count: number): Promise<number> {
  return statusesOf(await burst(client, count))['200'] ?? 0;
}
