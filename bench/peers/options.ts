import { parseArgs } from 'node:util';
import { type Kind, kinds } from './kinds.ts';
import { type Workload, workloads } from './workloads.ts';

/** What is measured, and for how long. */
export interface Options {
  readonly kinds: readonly Kind[];
  readonly workloads: readonly Workload[];
  readonly rounds: number;
  /** Seconds of load at a time. */
  readonly slice: number;
  /** Seconds of each load before all that is counted. */
  readonly warmUp: number;
  /** How often each server is started to take its time. */
  readonly starts: number;
  /** Whether nothing was left out. */
  readonly isComplete: boolean;
}

/** @throws Error for what is not known, with what is */
export function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      servers: { type: 'string' },
      workloads: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      slice: { type: 'string', default: '2' },
      'warm-up': { type: 'string', default: '10' },
      starts: { type: 'string', default: '5' },
    },
  });
  return {
    kinds: choose('servers', kinds, values.servers),
    workloads: choose('workloads', workloads, values.workloads),
    rounds: positive('rounds', values.rounds),
    slice: positive('slice', values.slice),
    warmUp: positive('warm-up', values['warm-up']),
    starts: positive('starts', values.starts),
    isComplete: values.servers === undefined && values.workloads === undefined && process.env['BENCH_BEFORE'] === undefined,
  };
}

/** Those of all that are named, separated by commas; all if none is. */
export function choose<T extends { readonly name: string }>(
  option: string,
  all: readonly T[],
  chosen: string | undefined,
): readonly T[] {
  const names = chosen?.split(',').map((name) => name.trim());
  const unknown = names?.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new Error(`--${option} does not know "${unknown}": name some of ${all.map(({ name }) => name).join(',')}.`);
  }
  return all.filter(({ name }) => names?.includes(name) ?? true);
}

function positive(option: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) {
    throw new Error(`--${option} must be a whole number from 1.`);
  }
  return Number(text);
}
