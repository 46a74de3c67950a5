import { within } from '../time/within.js';
import { Rounds } from './rounds.js';

/** Calls of one key to be reported. */
export interface Report {
  /** Of those that were counted in the shared window: when, by its own clock. It may have lost them. */
  stamps: readonly number[];
  /** Of all others: how long ago, in milliseconds. */
  ages: readonly number[];
}

/** Where calls are reported to. */
export interface CallReceiver {
  /**
   * Adds those calls that it does not have.
   *
   * @returns the stamps that it gave to those which had none
   */
  report(key: string, calls: Report): Promise<number[]>;
}

/** One call that this process admitted. */
interface Call {
  /** When, by the clock of this process in milliseconds. */
  at: number;
  /** When, by the clock of the shared window, if it was counted there. */
  stamp: number | undefined;
}

/** Keys whose calls are reported at once, and calls that one report has at most. */
const KEYS_AT_ONCE = 50;
const CALLS_IN_REPORT = 1000;

/** How long one report may take, in milliseconds. */
const PATIENCE = 500;

/** The calls that this process admitted, for as long as they count: what the shared window must know, even if it lost all. */
export class AdmittedCalls {
  private readonly calls = new Map<string, Call[]>();
  private readonly rounds: Rounds<Call[]>;

  /** @param length - of the window, in milliseconds */
  constructor(private readonly length: number) {
    this.rounds = new Rounds(this.calls, length, (key, calls, now) => {
      const latest = calls.at(-1);
      if (!latest || this.hasLeft(latest, now)) {
        this.calls.delete(key);
      }
    });
  }

  /**
   * A call is admitted now.
   *
   * @param stamp - when, by the clock of the shared window; none if it was not counted there
   */
  add(key: string, stamp?: number): void {
    const now = performance.now();
    this.rounds.step(now);
    const known = this.calls.get(key);
    const calls = known ?? [];
    const [oldest] = calls;
    if (oldest && this.hasLeft(oldest, now)) {
      const first = calls.findIndex((call) => !this.hasLeft(call, now));
      calls.splice(0, first === -1 ? calls.length : first);
    }
    calls.push({ at: now, stamp });
    if (!known) {
      this.calls.set(key, calls);
    }
  }

  /**
   * Reports all calls that still count.
   *
   * @throws what the receiver throws, or an Error when it takes too long
   */
  async report(receiver: CallReceiver): Promise<void> {
    const now = performance.now();
    const entries = [...this.calls];
    const work = async (): Promise<void> => {
      for (let entry = entries.pop(); entry; entry = entries.pop()) {
        const [key, calls] = entry;
        await reportKey(
          receiver,
          key,
          calls.filter((call) => !this.hasLeft(call, now)),
        );
      }
    };
    await Promise.all(Array.from({ length: KEYS_AT_ONCE }, work));
  }

  private hasLeft({ at }: Call, now: number): boolean {
    return at + this.length <= now;
  }
}

async function reportKey(receiver: CallReceiver, key: string, calls: readonly Call[]): Promise<void> {
  for (let first = 0; first < calls.length; first += CALLS_IN_REPORT) {
    const part = calls.slice(first, first + CALLS_IN_REPORT);
    const unknown = part.filter(({ stamp }) => stamp === undefined);
    const now = performance.now();
    const stamps = await within(
      PATIENCE,
      receiver.report(key, {
        stamps: part.flatMap(({ stamp }) => (stamp === undefined ? [] : [stamp])),
        ages: unknown.map(({ at }) => now - at),
      }),
    );
    unknown.forEach((call, index) => {
      call.stamp = stamps[index];
    });
  }
}
