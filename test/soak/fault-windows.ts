import type { Instance } from './servers/instance.ts';

/** What a fault may cause: 503 from any instance, or requests without a response from one that is killed. */
type Effect = 'unavailable' | { readonly killed: Instance };

/** Times of a request, or of a line of the log, by `performance.now()`. */
export interface Span {
  readonly sent: number;
  readonly received: number;
}

interface FaultWindow {
  readonly name: string;
  readonly effect: Effect;
  readonly start: number;
  end: number;
}

/** The times in which the test disturbs what the service depends on. At all other times no request may fail. */
export class FaultWindows {
  private readonly windows: FaultWindow[] = [];

  /** Runs a fault and waits until everything works again: until then it excuses what it may cause. */
  async during(name: string, effect: Effect, fault: () => Promise<void>): Promise<void> {
    const window = { name: `${this.windows.length + 1}: ${name}`, effect, start: performance.now(), end: Infinity };
    this.windows.push(window);
    await fault();
    window.end = performance.now();
  }

  /** The fault that may have caused a response with this status, or none. */
  excuseOf(status: number, instance: Instance, { sent, received }: Span): string | undefined {
    return this.windows.find(({ effect, start, end }) => {
      const isMet = effect === 'unavailable' ? status === 503 : status === 0 && effect.killed === instance;
      return isMet && sent <= end && received >= start;
    })?.name;
  }

  /** Whether any fault was on at a time. */
  isDisturbed({ sent, received }: Span): boolean {
    return this.windows.some(({ start, end }) => sent <= end && received >= start);
  }

  /** Each fault with its length in seconds. */
  get lengths(): [name: string, seconds: number][] {
    return this.windows.map(({ name, start, end }) => [name, (end - start) / 1000]);
  }
}
