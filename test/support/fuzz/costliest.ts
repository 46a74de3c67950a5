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
    const found = [...times].map(([input, all]) => {
      const time = quartileOf(all);
      return { input, time, ratio: time / usual };
    });
    return found.toSorted((a, b) => b.time - a.time);
  };
  const costliest = () => costs().map(({ input }) => input);
  for (let round = 0; round < 10; round += 1) {
    for (const input of round < 2 ? inputs : costliest().slice(0, 20)) {
      unitTimes.push(await timeOf(unit));
      times.get(input)?.push(await timeOf(input));
    }
  }
  return costs();
}

const quartileOf = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 4)] ?? NaN;
