import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '../client.ts';
import type { Fleet } from '../fleet.ts';
import type { Ledger } from '../ledger.ts';
import type { Tally } from '../tally.ts';
import type { Tokens } from '../tokens.ts';

/** What clients share. */
export interface World {
  readonly fleet: Fleet;
  readonly tally: Tally;
  readonly ledger: Ledger;
  readonly tokens: Tokens;
  /** What clients saw that must not be, beside wrong statuses. */
  readonly findings: string[];
  /** How many walks read all pages. */
  readonly walks: { complete: number };
  /** The first token is revoked at this time, by `performance.now()`. */
  readonly revokedAt: Map<string, number>;
}

/** What a kind of client does again and again. */
export interface Behavior {
  readonly kind: string;
  /** How many do so at once, half of them on new connections. */
  readonly clients: number;
  /** Milliseconds between two turns. */
  readonly pause: number;
  readonly act: (client: Client, world: World) => Promise<unknown>;
}

/** Clients that behave in their ways until they are stopped. */
export class Traffic {
  private readonly stopping = new AbortController();
  private readonly clients: Promise<void>[];

  constructor(world: World, behaviors: readonly Behavior[]) {
    this.clients = behaviors.flatMap((behavior) =>
      Array.from({ length: behavior.clients }, (_, index) => this.run(world, behavior, index % 2 === 0)),
    );
  }

  /** Waits for what they do, and closes their connections. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.clients);
  }

  private async run(world: World, { kind, pause, act }: Behavior, keepAlive: boolean): Promise<void> {
    const { signal } = this.stopping;
    const client = new Client(world.fleet, world.tally, kind, keepAlive);
    while (!signal.aborted) {
      await act(client, world);
      // Of varying length, so that clients do not keep step.
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
    client.close();
  }
}

export function oneOf<T>(...values: readonly [T, ...T[]]): T {
  return values[Math.floor(Math.random() * values.length)] ?? values[0];
}
