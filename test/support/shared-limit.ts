import { setTimeout as delay } from 'node:timers/promises';
import { runCli } from './process.js';
import { Cluster } from './cluster.js';
import type { HttpClient } from './http-client.js';
import { admittedOf, type Call, Load, mostInAnyWindow, outcomesOf, statusesOf } from './load.js';
import { measured } from './measurements.js';
import { eventually } from './service.js';
import { areShared, BACK, storageChanges, type StorageChanges, whileShared } from './storage-changes.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from './test-database.js';
import { issueTokens } from './tokens.js';

/** The names of these are those of the variables of the service. */
export const REPLICAS = 4;
export const LIMIT = 40;
/** What each process admits when it is alone. */
export const PART = LIMIT / REPLICAS;
/** Milliseconds. */
export const WINDOW = 5000;

/** Within how many milliseconds all processes count together again. */
const RECOVERY = 2000;

/** What is done to Redis under load. */
export interface Fault {
  /** How long it lasts, in milliseconds. */
  lasts: number;
  begin(): Promise<unknown>;
  /** Undoes it. Once this is done, Redis works. */
  end(): Promise<unknown>;
  /** Whether Redis works at times in between, so that processes may come and go more often than once. */
  isIntermittent?: boolean;
}

/** Four processes that share a limit of 40 calls in 5 seconds by means of a Redis that fails. */
export class SharedLimit {
  private constructor(
    /** Of each process. */
    readonly environment: NodeJS.ProcessEnv,
    readonly cluster: Cluster,
    private readonly database: TestDatabase,
  ) {}

  /** @param url - of Redis */
  static async start(url: string): Promise<SharedLimit> {
    const database = await createTestDatabase();
    await runCli(['migrate'], database.environment);
    const environment = {
      ...database.environment,
      RATE_LIMIT: String(LIMIT),
      RATE_LIMIT_WINDOW: String(WINDOW / 1000),
      RATE_LIMIT_REPLICAS: String(REPLICAS),
      REDIS_URL: url,
    };
    return new SharedLimit(environment, await Cluster.start(REPLICAS, environment), database);
  }

  stop(): Promise<void> {
    return this.database.drop();
  }

  /** Tokens that nothing was counted for yet. */
  newTokens(count: number): Promise<string[]> {
    return issueTokens(databaseUrlOf(this.database), count);
  }

  /** Commits a fault under load, and expects all that holds before, during and after every fault. */
  async examine(name: string, fault: Fault): Promise<void> {
    const tokens = await this.newTokens(2);
    // Until then, a process does not ask Redis about tokens that have used up its part.
    await this.settled();
    const loads = tokens.map((token) => this.hammer(token));
    try {
      const alone = await this.commit(name, fault);
      await delay(WINDOW);
      const calls = await Promise.all(loads.map((load) => load.stop()));
      for (const some of calls) expectBound(some, alone);
    } finally {
      await Promise.all(loads.map((load) => load.stop()));
    }
    await this.expectShared();
  }

  /** @returns when each process decided alone */
  private async commit(name: string, fault: Fault): Promise<{ from: number; until: number }> {
    await delay(1500);
    await areShared(this.cluster.processes);
    const before = this.changes();
    await fault.begin();
    const until = performance.now() + fault.lasts;
    try {
      await this.expectAlone(before, fault.isIntermittent);
      const from = performance.now();
      await delay(Math.max(0, until - from));
      return { from, until };
    } finally {
      await fault.end();
      await this.expectBack(name, before);
    }
  }

  /** Waits until Redis decides alone in every process: one that was away keeps to its part for a window and 2 seconds. */
  async settled(): Promise<void> {
    await areShared(this.cluster.processes);
    if (this.changes().some(({ back }) => back > 0)) {
      await delay(Math.max(0, this.latestReturn() + WINDOW + 2500 - Date.now()));
    }
  }

  /** All processes together admit exactly the limit of a token. */
  async expectShared(): Promise<void> {
    const replies = await whileShared(this.cluster.processes, async () => {
      const [token = ''] = await this.newTokens(1);
      const client = this.cluster.client(token);
      return Promise.all(Array.from({ length: 2 * LIMIT + 20 }, () => client.list()));
    });
    expect(statusesOf(replies)).toEqual({ 200: LIMIT, 429: LIMIT + 20 });
  }

  /** Every process says once that it counts alone, is ready nevertheless, and shows it in its metrics. */
  async expectAlone(before: StorageChanges, isIntermittent = false): Promise<void> {
    await eventually(() => this.changes().every(({ away }, place) => away > (before[place]?.away ?? 0)));
    for (const process of this.cluster.processes) {
      expect((await fetch(`${process.origin}/readyz`)).status).toBe(200);
      if (!isIntermittent) expect(await process.metric('items_rate_limit_shared')).toBe(0);
      expect(await process.metric('items_rate_limit_storage_changes_total{to="process"}')).toBeGreaterThan(0);
    }
  }

  /** Every process says in time that it counts with the others again, as often as that it did not. */
  async expectBack(name: string, before: StorageChanges): Promise<void> {
    const ended = Date.now();
    await areShared(this.cluster.processes);
    const changes = this.changes().map(({ back }, place) => back - (before[place]?.back ?? 0));
    const latest = this.latestReturn();
    measured(`all processes share the limit again after ${name}`, latest - ended, 'ms');
    expect(latest - ended).toBeLessThan(RECOVERY);
    expect(Math.min(...changes)).toBeGreaterThanOrEqual(1);
    for (const process of this.cluster.processes) {
      await eventually(async () => (await process.metric('items_rate_limit_shared')) === 1);
    }
  }

  /** When the last process used Redis again, in milliseconds since 1970. */
  private latestReturn(): number {
    return Math.max(
      ...this.cluster.processes.flatMap((process) => process.linesOf(BACK).map(({ time }) => Date.parse(time as string))),
    );
  }

  changes(): StorageChanges {
    return storageChanges(this.cluster.processes);
  }

  /** Many more calls than the limit, over all processes. */
  hammer(token: string): Load {
    const clients = Array.from({ length: 3 }, () => this.cluster.client(token));
    return new Load(
      clients.map((client) => () => client.list()),
      40,
    );
  }
}

/**
 * Expects 200 and 429 only, the documented bounds, and admitted calls while each process decided alone.
 *
 * @param alone - when each process decided alone
 */
function expectBound(calls: readonly Call[], alone: { from: number; until: number }): void {
  const admitted = admittedOf(calls);
  expect(Object.keys(outcomesOf(calls)).toSorted()).toEqual(['200', '429']);
  // The window that spans the loss: limit × (2 − 1/N).
  expect(mostInAnyWindow(admitted, WINDOW)).toBeLessThanOrEqual(LIMIT + (REPLICAS - 1) * PART);
  const later = admitted.filter(({ sent }) => sent > alone.from);
  expect(mostInAnyWindow(later, WINDOW)).toBeLessThanOrEqual(LIMIT);
  if (alone.until - alone.from > WINDOW) {
    expect(later.filter(({ received }) => received < alone.until)).not.toEqual([]);
  }
}

/** As many calls at once. @returns how many of them were admitted */
export async function burst(client: HttpClient, count: number): Promise<number> {
  const replies = await Promise.all(Array.from({ length: count }, () => client.list()));
  return replies.filter(({ status }) => status === 200).length;
}
