import { median } from '../statistics.ts';
import { kinds } from './kinds.ts';
import type { Slice } from './measure.ts';
import type { Results } from './rounds.ts';
import { workloads as known } from './workloads.ts';

/** Medians over the rounds of one server with one workload. */
export interface Figures {
  /** Answers in a second. */
  readonly throughput: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time for one request. */
  readonly processor: number;
  readonly toBase?: Ratios;
  readonly toTextbook?: Ratios;
}

/** How one server compares with another: above 1 it is better. Of each round, as slices of one round are neighbours. */
export interface Ratios {
  /** The other one's processor time ÷ its own. */
  readonly processor: number;
  /** Its throughput ÷ the other one's. */
  readonly throughput: number;
}

export interface ServerFigures {
  /** Milliseconds from the start to the first answer. */
  readonly start: number;
  /** Bytes that are resident under load, and the most there ever were. */
  readonly memory: number;
  readonly peak: number;
}

export interface Summary {
  /** By the name of the workload, then of the server. */
  readonly workloads: Readonly<Record<string, Readonly<Record<string, Figures>>>>;
  readonly servers: Readonly<Record<string, ServerFigures>>;
  /** Microseconds of processor time that the line of the access log takes. */
  readonly accessLog?: number;
}

export function summarise({ slices: measured, starts, peaks }: Results): Summary {
  // In the order of the list, not in that of the first round.
  const slices = kinds.flatMap(({ name }) => measured.filter(({ server }) => server === name));
  const workloads = Object.entries(groupBy(slices, 'workload')).map(([workload, of]) => {
    const byServer = groupBy(of, 'server');
    return [workload, mapValues(byServer, (own) => figuresOf(own, byServer['base'], byServer['textbook']))] as const;
  });
  const servers = mapValues(groupBy(slices, 'server'), (own, server) => ({
    start: median(starts[server] ?? []),
    memory: median(own.map(({ memory }) => memory)),
    peak: peaks[server] ?? NaN,
  }));
  const accessLog = accessLogOf(groupBy(slices, 'server'));
  return { workloads: Object.fromEntries(workloads), servers, ...(accessLog !== undefined && { accessLog }) };
}

/** From the ratio of neighbours, too: what disturbs a round is many times as much as one line. */
function accessLogOf({ ours = [], 'ours with access log': logged }: Record<string, Slice[]>): number | undefined {
  const silent = ours.filter(({ workload }) => workload === logged?.[0]?.workload);
  if (!logged || silent.length === 0) {
    return undefined;
  }
  return (1 / ratios(logged, silent).processor - 1) * median(silent.map(({ processor }) => processor));
}

/** The figures of all workloads that were measured; objects put names that are numbers first. */
export function inOrder(workloads: Summary['workloads']): [workload: string, Summary['workloads'][string]][] {
  return known.flatMap(({ name }) => (workloads[name] ? [[name, workloads[name]]] : []));
}

function figuresOf(own: readonly Slice[], base: readonly Slice[] | undefined, textbook: readonly Slice[] | undefined): Figures {
  return {
    throughput: median(own.map(({ throughput }) => throughput)),
    p50: median(own.map(({ p50 }) => p50)),
    p99: median(own.map(({ p99 }) => p99)),
    processor: median(own.map(({ processor }) => processor)),
    ...(base && { toBase: ratios(own, base) }),
    ...(textbook && { toTextbook: ratios(own, textbook) }),
  };
}

function ratios(own: readonly Slice[], others: readonly Slice[]): Ratios {
  const pairs = own.flatMap((slice) => others.filter(({ round }) => round === slice.round).map((other) => ({ slice, other })));
  return {
    processor: median(pairs.map(({ slice, other }) => other.processor / slice.processor)),
    throughput: median(pairs.map(({ slice, other }) => slice.throughput / other.throughput)),
  };
}

function groupBy(slices: readonly Slice[], name: 'server' | 'workload'): Record<string, Slice[]> {
  return Object.groupBy(slices, (slice) => slice[name]) as Record<string, Slice[]>;
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T, key: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
