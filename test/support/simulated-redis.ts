import { EventEmitter } from 'node:events';
import { SlidingWindow } from '../../src/platform/throttling/sliding-window.js';

/** Milliseconds: until a connection without a response is replaced, and until the next attempt. */
const [NO_RESPONSE, RETRY] = [1000, 250];

/** Milliseconds for which a message is under way. */
const LATENCY = 0.2;

type State = [admitted: number, remaining: number, freeIn: number];

/** A model of a Redis, of its connections and of their failures, for tests with a simulated clock. */
export class SimulatedRedis {
  readonly connections: SimulatedConnection[] = [];
  private windows = new Map<number, SlidingWindow>();
  private pausedUntil = 0;
  private downUntil = 0;

  connect(): SimulatedConnection {
    const connection = new SimulatedConnection(this);
    this.connections.push(connection);
    return connection;
  }

  get isUp(): boolean {
    return performance.now() >= this.downUntil;
  }

  /** Executes no command for so many milliseconds, then all that have arrived. */
  pause(lasts: number): void {
    this.pausedUntil = performance.now() + lasts;
  }

  /** Ends, and starts again without data. Commands that have not been executed never are. */
  kill(lasts: number): void {
    this.windows = new Map();
    this.downUntil = performance.now() + lasts;
    this.connections.forEach((connection) => connection.cut(0));
  }

  /** Executes a command that arrives now, also if its connection has ended. */
  async execute(key: string, limit: number, length: number): Promise<State> {
    const { windows } = this;
    while (performance.now() < this.pausedUntil) await after(this.pausedUntil - performance.now());
    if (windows !== this.windows) return new Promise(() => undefined);
    const { admitted, remaining, freeIn } = windows
      .getOrInsertComputed(length, () => new SlidingWindow(length / 1000))
      .hit(key, limit);
    return [Number(admitted), remaining, freeIn * 1000];
  }
}

/** What a process sees of {@link SimulatedRedis}: commands and responses keep their order. */
export class SimulatedConnection extends EventEmitter {
  /** Milliseconds of each way. */
  private latency = LATENCY;
  private readonly inFlight = new Set<(error: Error) => void>();
  private heldUntil = 0;
  private cutUntil = 0;
  private arrival = 0;
  private response = 0;

  constructor(private readonly redis: SimulatedRedis) {
    super();
  }

  connect(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {
    this.cutUntil = Infinity;
  }

  defineCommand(): void {
    // The model knows the only one.
  }

  /** Keeps an idle connection, which this model does not close. */
  time(): Promise<unknown> {
    return Promise.resolve();
  }

  /** The network delivers nothing, in either direction, for so many milliseconds. */
  hold(lasts: number): void {
    this.heldUntil = performance.now() + lasts;
  }

  /** Delivers so many milliseconds late, in each direction, for a time. */
  delay(lasts: number, latency: number): void {
    this.latency = latency;
    setTimeout(() => (this.latency = LATENCY), lasts);
  }

  /** Ends the connection, and connects no more for so many milliseconds. */
  cut(lasts: number): void {
    this.cutUntil = performance.now() + lasts;
    this.inFlight.forEach((reject) => reject(new Error('Connection is closed.')));
    this.inFlight.clear();
    this.emit('close');
  }

  slidingWindow(key: string, limit: number, length: number): Promise<State> {
    if (!this.redis.isUp || performance.now() < Math.max(this.cutUntil, this.heldUntil - NO_RESPONSE)) {
      return Promise.reject(new Error('Stream is not writeable.'));
    }
    const { promise, resolve, reject } = Promise.withResolvers<State>();
    this.inFlight.add(reject);
    const silence = setTimeout(() => this.cut(RETRY), NO_RESPONSE);
    void this.send(key, limit, length).then((state) => this.inFlight.delete(reject) && resolve(state));
    return promise.finally(() => clearTimeout(silence));
  }

  private async send(key: string, limit: number, length: number): Promise<State> {
    const { redis } = this;
    this.arrival = this.delivered(this.arrival);
    await after(this.arrival - performance.now());
    const state = await redis.execute(key, limit, length);
    this.response = this.delivered(this.response);
    await after(this.response - performance.now());
    // The network may have failed in the meantime.
    while (performance.now() < this.heldUntil) await after(this.heldUntil - performance.now());
    return state;
  }

  private delivered(previous: number): number {
    return Math.max(previous, this.heldUntil, performance.now() + this.latency);
  }
}

function after(milliseconds: number): Promise<void> {
  return milliseconds > 0 ? new Promise((resolve) => setTimeout(resolve, milliseconds)) : Promise.resolve();
}
