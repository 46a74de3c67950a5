/** One look at another clock; all times in milliseconds. */
export interface ClockSample {
  /** When it was asked, and when the answer came, by our clock. */
  readonly asked: number;
  readonly answered: number;
  /** What the other clock said. */
  readonly theirs: number;
}

/** How far the other clock is ahead of ours, and how far this may be wrong; in milliseconds. */
export interface ClockOffset {
  readonly ahead: number;
  readonly uncertainty: number;
}

/**
 * Compares two clocks over a network, as NTP does (RFC 5905, section 8): the other one was read at some time between question
 * and answer. The quickest answer tells most.
 *
 * @param samples - one at least
 */
export function clockOffset(samples: readonly ClockSample[]): ClockOffset {
  const offsets = samples.map(({ asked, answered, theirs }) => ({
    ahead: theirs - (asked + answered) / 2,
    uncertainty: (answered - asked) / 2,
  }));
  const [best] = offsets.toSorted((a, b) => a.uncertainty - b.uncertainty);
  if (!best) {
    throw new Error('No clock was looked at.');
  }
  return best;
}

/** So far are the clocks apart at least. */
export function certainDistance({ ahead, uncertainty }: ClockOffset): number {
  return Math.max(0, Math.abs(ahead) - uncertainty);
}
