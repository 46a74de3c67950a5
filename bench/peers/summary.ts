import { median } from '../statistics.ts';
import type { Results, Slice } from './measure.ts';
import { programs } from './programs.ts';
import { workloads as known } from './workloads.ts';

/** Medians over the rounds of one server with one workload. */
export interface Figures {
  /** Responses in a second. */
  readonly throughput: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time for one request. */
  readonly processor: number;
  /** The same of PostgreSQL. */
  readonly postgresql: number;
  readonly toBase?: Ratios;
  readonly toTextbook?: Ratios;
}

/** How one server compares with another: above 1 it is better. Of each round, as slices of one round are neighbours. */
export interface Ratios {
  /** The other one's processor time ÷ its own. */
  readonly processor: number;
  /** Its own time in PostgreSQL ÷ the other one's: less is better. */
  readonly postgresql: number;
  /** Its throughput ÷ the other one's. */
  readonly throughput: number;
}

export interface Summary {
  /** By the name of the workload, then of the server. */
  readonly workloads: Readonly<Record<string, Readonly<Record<string, Figures>>>>;
  /** Milliseconds from the start to the first response; bytes that are resident under load, and the most there ever were. */
  readonly servers: Readonly<Record<string, { readonly start: number; readonly memory: number; readonly peak: number }>>;
}

export function summarise({ slices, starts, peaks }: Results): Summary {
  const workloads: Record<string, Record<string, Figures>> = {};
  const servers: Record<string, Summary['servers'][string]> = {};
  for (const { name: server } of programs) {
    const own = slices.filter((slice) => slice.server === server);
    for (const [workload = '', some = []] of Object.entries(Object.groupBy(own, (slice) => slice.workload))) {
      const others = slices.filter((slice) => slice.workload === workload);
      (workloads[workload] ??= {})[server] = figuresOf(some, others);
    }
    if (own.length > 0) {
      servers[server] = { start: median(starts[server] ?? []), memory: medianOf(own, 'memory'), peak: peaks[server] ?? NaN };
    }
  }
  return { workloads, servers };
}

/** The figures of all workloads that were measured; objects put names that are numbers first. */
export function inOrder(workloads: Summary['workloads']): [workload: string, Summary['workloads'][string]][] {
  return known.flatMap(({ name }) => (workloads[name] ? [[name, workloads[name]]] : []));
}

function figuresOf(own: readonly Slice[], all: readonly Slice[]): Figures {
  const toBase = ratios(own, all, 'base');
  const toTextbook = ratios(own, all, 'textbook');
  return {
    throughput: medianOf(own, 'throughput'),
    p50: medianOf(own, 'p50'),
    p99: medianOf(own, 'p99'),
    processor: medianOf(own, 'processor'),
    postgresql: medianOf(own, 'postgresql'),
    ...(toBase && { toBase }),
    ...(toTextbook && { toTextbook }),
  };
}

function ratios(own: readonly Slice[], all: readonly Slice[], server: string): Ratios | undefined {
  const others = all.filter((slice) => slice.server === server);
  const pairs = own.flatMap((slice) => others.filter(({ round }) => round === slice.round).map((other) => ({ slice, other })));
  return others.length === 0
    ? undefined
    : {
        processor: median(pairs.map(({ slice, other }) => other.processor / slice.processor)),
        postgresql: median(pairs.map(({ slice, other }) => slice.postgresql / other.postgresql)),
        throughput: median(pairs.map(({ slice, other }) => slice.throughput / other.throughput)),
      };
}

function medianOf(
  slices: readonly Slice[],
  figure: 'throughput' | 'p50' | 'p99' | 'processor' | 'postgresql' | 'memory',
): number {
  return median(slices.map((slice) => slice[figure]));
}
