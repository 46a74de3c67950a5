import type { Reply } from './client.ts';
import type { FaultWindows } from './fault-windows.ts';

interface Entry {
  readonly kind: string;
  readonly outcome: string;
  readonly status: number;
  readonly reply: Reply;
  readonly isExpected: boolean;
}

/** Responses of one kind of request. */
export interface Row {
  readonly kind: string;
  /** As `200 × count, …`. */
  readonly outcomes: string;
  /** Milliseconds, outside of fault windows. */
  readonly p50: number;
  readonly p99: number;
}

/** All requests with what became of them. */
export class Tally {
  private readonly entries: Entry[] = [];
  private readonly latest = new Map<string, number>();

  /** @param expected - outcomes that are right at any time: statuses, or 0 for none */
  add(kind: string, reply: Reply, expected: readonly number[]): void {
    const fault = reply.status >= 400 ? faultOfProblem(reply) : undefined;
    const outcome = fault ?? (reply.status === 0 ? `none (${reply.error})` : String(reply.status));
    const isExpected = fault === undefined && expected.includes(reply.status);
    // Bodies are large, and no longer of interest.
    this.latest.set(kind, reply.received - reply.sent);
    this.entries.push({ kind, outcome, status: fault ? -1 : reply.status, reply: { ...reply, body: '' }, isExpected });
  }

  /** Milliseconds that the latest request of a kind took. */
  latestTime(kind: string): number {
    return this.latest.get(kind) ?? 10;
  }

  /** What each fault caused, as `503 × count`. */
  excused(windows: FaultWindows): Map<string, string> {
    const excused = this.entries.flatMap(({ isExpected, status, outcome, reply }) => {
      const fault = isExpected ? undefined : windows.excuseOf(status, reply.instance, reply);
      return fault === undefined ? [] : { fault, outcome };
    });
    const faults = Map.groupBy(excused, ({ fault }) => fault);
    return new Map([...faults].map(([fault, entries]) => [fault, countsOf(entries.map(({ outcome }) => outcome))]));
  }

  /** Those of some outcomes that no request had, although the test is about them. */
  missing(outcomes: readonly (readonly [kind: string, status: number])[]): string[] {
    const missing = outcomes.filter(
      ([kind, status]) => !this.entries.some((entry) => entry.kind === kind && entry.status === status),
    );
    return missing.map(([kind, status]) => `no request of the kind "${kind}" got ${status || 'no response'}`);
  }

  /** The most requests of a kind that got 200 within so many milliseconds, by the times of their responses. */
  mostAdmitted(kind: string, window: number): number {
    const admitted = this.entries.filter((entry) => entry.kind === kind && entry.status === 200);
    const times = admitted.map(({ reply }) => reply.received).toSorted((a, b) => a - b);
    const counts = times.map((time, index) => index + 1 - times.findIndex((first) => first > time - window));
    return Math.max(0, ...counts);
  }

  /** Outcomes that nothing explains, as `kind: outcome × count`. */
  unexplained(windows: FaultWindows): string[] {
    const wrong = this.entries.filter(
      ({ isExpected, status, reply }) => !isExpected && windows.excuseOf(status, reply.instance, reply) === undefined,
    );
    const groups = Map.groupBy(wrong, ({ kind, outcome }) => `${kind}: ${outcome}`);
    return [...groups].map(([what, entries]) => `${what} × ${entries.length}, ${placesOf(entries)}`);
  }

  rows(windows: FaultWindows): Row[] {
    const groups = Map.groupBy(this.entries, ({ kind }) => kind);
    return [...groups].map(([kind, entries]) => {
      const undisturbed = entries.filter(({ reply }) => !windows.isDisturbed(reply));
      const times = undisturbed.map(({ reply }) => reply.received - reply.sent).toSorted((a, b) => a - b);
      const quantile = (part: number) => times[Math.floor(times.length * part)] ?? NaN;
      const outcomes = countsOf(entries.map(({ outcome }) => outcome));
      return { kind, outcomes, p50: quantile(0.5), p99: quantile(0.99) };
    });
  }
}

function countsOf(outcomes: readonly string[]): string {
  const groups = Map.groupBy(outcomes.toSorted(), (outcome) => outcome);
  return [...groups].map(([outcome, { length }]) => `${outcome} × ${length}`).join(', ');
}

/** When, in seconds since the start of the test, and where the first of these were. */
function placesOf(entries: readonly Entry[]): string {
  const texts = entries.slice(0, 3).map(({ reply: { sent, received, instance, detail } }) => {
    return `at ${(sent / 1000).toFixed(2)}–${(received / 1000).toFixed(2)} s of ${instance.name}${detail && ` "${detail}"`}`;
  });
  return texts.join('; ');
}

/** What the description of the API says of each error, and a response does not keep. */
function faultOfProblem({ status, headers, body }: Reply): string | undefined {
  const isProblem = headers['content-type']?.startsWith('application/problem+json') === true;
  if (!isProblem || !body.includes(`"status":${status}`)) return `${status} that is no problem document`;
  if ((status === 429 || status === 503) && !(Number(headers['retry-after']) >= 1)) return `${status} without Retry-After`;
  return status === 401 && !headers['www-authenticate'] ? '401 without WWW-Authenticate' : undefined;
}
