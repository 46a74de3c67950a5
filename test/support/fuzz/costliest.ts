export interface Cost {
  input: string;
  /** The shortest time: the rest is compilation, garbage collection, and the load of other processes. */
  time: number;
  /** Times the unit. */
  ratio: number;
}

/** Measures all inputs twice, and the costliest ones again. @param unit - input that is measured before each of them */
export async function findCostliest(
  inputs: readonly string[],
  unit: string,
  timeOf: (input: string) => number | Promise<number>,
): Promise<Cost[]> {
  const times = new Map<string, number>();
  const unitTimes: number[] = [];
  const costs = () => {
    const usual = unitTimes.toSorted((a, b) => a - b)[Math.floor(unitTimes.length / 4)] ?? NaN;
    const found = [...times].map(([input, time]) => ({ input, time, ratio: time / usual }));
    return found.toSorted((a, b) => b.time - a.time);
  };
  for (let round = 0; round < 10; round += 1) {
    const measured = round < 2 ? inputs : costs().slice(0, 20);
    for (const each of measured) {
      const input = typeof each === 'string' ? each : each.input;
      unitTimes.push(await timeOf(unit));
      times.set(input, Math.min(times.get(input) ?? Infinity, await timeOf(input)));
    }
  }
  return costs();
}
