export interface Cost {
  input: string;
  /** What a quarter of the runs did not exceed: the rest is compilation, garbage collection, and other processes. */
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
  const times = new Map<string, number[]>(inputs.map((input) => [input, []]));
  const unitTimes: number[] = [];
  const costs = () => {
    const usual = quartileOf(unitTimes);
    const found = [...times].map(([input, all]) => ({ input, time: quartileOf(all), ratio: quartileOf(all) / usual }));
    return found.toSorted((a, b) => b.time - a.time);
  };
  for (let round = 0; round < 10; round += 1) {
    const measured =
      round < 2
        ? inputs
        : costs()
            .slice(0, 20)
            .map(({ input }) => input);
    for (const input of measured) {
      unitTimes.push(await timeOf(unit));
      times.get(input)?.push(await timeOf(input));
    }
  }
  return costs();
}

const quartileOf = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 4)] ?? NaN;
