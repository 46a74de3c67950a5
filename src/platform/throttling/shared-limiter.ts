import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../time/within.js';
import { AdmittedCalls } from './admitted-calls.js';
import type { SharedWindow } from './shared-window.js';
import { SlidingWindow, type WindowState } from './sliding-window.js';

/** How the limiter works with what it shares. */
export interface SharedLimiterOptions {
  /** Calls in any window, by all replicas together. */
  limit: number;
  /** Length of the window in milliseconds. */
  length: number;
  /** Processes that share the limit. */
  replicas: number;
  /** Makes a new connection to the shared window, or fails, before long. */
  connect(): Promise<SharedWindow>;
  /** Told that the shared window went away, and why, or that it is back. */
  onChange(isShared: boolean, reason?: unknown): void;
  /** Told of each call whether it was admitted, and whether the shared window said so. */
  onDecision(admitted: boolean, isShared: boolean): void;
}

/** How long a call may wait for the shared window, in milliseconds. */
export const PATIENCE = 50;

/** Pause between attempts to reach the shared window, in milliseconds. */
const PROBE_INTERVAL = 250;

/** For how many of these pauses a call must then be admitted by both windows: until every replica has reported. */
const SETTLING_PAUSES = 4;

/**
 * Counts in a window that all replicas share, and goes on without it: at its first failure this process decides by itself,
 * each replica admitting its part of the limit, until the shared window answers again.
 *
 * The limit holds on the way there and back. From what the shared window says, this process keeps its own part as used up as
 * the whole is. When the shared window is back, perhaps empty, this process reports what it admitted, and admits for a while
 * only what both windows have room for, until all other replicas have done the same.
 */
export class SharedLimiter {
  /** This process's part of the limit. */
  private readonly own: SlidingWindow;
  private readonly admitted: AdmittedCalls;
  private shared: SharedWindow | undefined;
  /** Whether the shared window decides alone. */
  private isSettled = false;
  /** With which key the shared window failed last: in a cluster, others may still work. */
  private failedKey = '';
  private reconnecting: Promise<void> | undefined;
  private readonly stopping = new AbortController();
  /** Runs what goes on beyond the request that gave rise to it. */
  private readonly outside = AsyncLocalStorage.snapshot();

  constructor(private readonly options: SharedLimiterOptions) {
    const { limit, length, replicas } = options;
    const part = partOf(limit, replicas);
    this.own = new SlidingWindow(part, length);
    this.admitted = new AdmittedCalls(length);
  }

  /** Makes the first connection; without it, this process decides by itself until it can be made. */
  async start(): Promise<void> {
    try {
      this.use(await this.connect());
      // This process has admitted nothing yet that could be missing.
      this.isSettled = true;
    } catch (error) {
      this.options.onChange(false, error);
      this.reconnecting = this.outside(() => this.reconnect());
    }
  }

  /** Counts one call, if there is room for it. Never fails, and takes little longer than {@link PATIENCE} at most. */
  async hit(key: string): Promise<WindowState> {
    const { shared, isSettled } = this;
    const own = shared && isSettled ? undefined : this.own.hit(key);
    if (own && !own.admitted) {
      this.options.onDecision(false, false);
      return own;
    }
    if (shared) {
      try {
        const state = await within(PATIENCE, shared.hit(key));
        if (state.admitted) {
          this.admitted.add(key, state.stamp);
        }
        this.own.fill(key, Math.ceil((this.options.limit - state.remaining) / this.options.replicas), state.latest);
        this.options.onDecision(state.admitted, true);
        return state;
      } catch (error) {
        this.leave(shared, error, key);
      }
    }
    return this.admitAlone(key, own ?? this.own.hit(key));
  }

  /** Whether calls are counted in the shared window. */
  get isShared(): boolean {
    return this.isSettled;
  }

  /** Gives up the connection for good. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.shared?.close();
    await this.reconnecting;
  }

  private admitAlone(key: string, state: WindowState): WindowState {
    if (state.admitted) {
      this.admitted.add(key);
    }
    this.options.onDecision(state.admitted, false);
    return state;
  }

  /** A new connection, over which calls with the key that failed can be counted. */
  private async connect(): Promise<SharedWindow> {
    const shared = await this.options.connect();
    try {
      await within(PATIENCE, shared.probe(this.failedKey));
      return shared;
    } catch (error) {
      shared.close();
      throw error;
    }
  }

  private use(shared: SharedWindow): void {
    if (this.stopping.signal.aborted) {
      shared.close();
      return;
    }
    this.shared = shared;
    shared.onBreak(() => {
      this.leave(shared, new Error('The connection ended.'));
    });
  }

  /** Decides alone from now on. Of calls that fail together, the first one comes here with news. */
  private leave(shared: SharedWindow, reason: unknown, key = this.failedKey): void {
    if (this.shared !== shared || this.stopping.signal.aborted) {
      return;
    }
    this.shared = undefined;
    this.failedKey = key;
    shared.close();
    // What fails before it has settled was not back yet.
    if (this.isSettled) {
      this.isSettled = false;
      this.options.onChange(false, reason);
      this.reconnecting = this.outside(() => this.reconnect());
    }
  }

  private async reconnect(): Promise<void> {
    const { signal } = this.stopping;
    while (!this.isSettled && !signal.aborted) {
      try {
        await this.settle(await this.connect());
      } catch {
        // Not yet.
        await delay(PROBE_INTERVAL, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** @throws Error when the connection breaks meanwhile */
  private async settle(shared: SharedWindow): Promise<void> {
    this.use(shared);
    const reported = this.admitted.report(shared).catch((error: unknown) => {
      this.leave(shared, error);
    });
    for (let pause = 0; pause < SETTLING_PAUSES && this.shared === shared; pause += 1) {
      await delay(PROBE_INTERVAL, undefined, { signal: this.stopping.signal });
    }
    await reported;
    if (this.shared !== shared) {
      throw new Error('The connection broke.');
    }
    this.isSettled = true;
    this.options.onChange(true);
  }
}

/** What one of several replicas may admit by itself, and never nothing. */
export function partOf(limit: number, replicas: number): number {
  return Math.max(1, Math.floor(limit / replicas));
}
