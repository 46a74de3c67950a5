/**
 * The time for all spans of a request: the wall clock when it arrived, and from then on a clock that only goes forward. By itself each span
 * would begin at a whole millisecond of the wall clock, before or behind the span around it.
 */
export class RequestClock {
  private readonly arrival = Date.now();
  private readonly reading = performance.now();

  /** Milliseconds since 1970, with fractions. */
  now(): number {
    return this.arrival + performance.now() - this.reading;
  }
}
