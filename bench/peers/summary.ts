import { median } from '../statistics.ts';
import type { Results, Slice } from './measure.ts';
import type { Settling } from './settling.ts';
import { measured } from './workloads.ts';

const FIGURES = ['throughput', 'p50', 'p99', 'processor', 'postgresql'] as const;

/** Medians over the rounds of one server with one workload. */
export interface Figures extends Pick<Slice, (typeof FIGURES)[number]> {
  readonly toBase?: Ratios;
  readonly toTextbook?: Ratios;
}

/** How one server compares with another: above 1 it is better. Of each round, as slices of one round are neighbours. */
export interface Ratios {
  /** The other one's CPU time ÷ its own. */
  readonly processor: number;
  /** Its own time in PostgreSQL ÷ the other one's: less is better. */
  readonly postgresql: number;
  /** Its throughput ÷ the other one's. */
  readonly throughput: number;
  /** Its 99th percentile of latencies ÷ the other one's: less is better. */
  readonly p99: number;
}

export interface Summary {
  /** By the name of the workload, then of the server. */
  readonly workloads: Readonly<Record<string, Readonly<Record<string, Figures>>>>;
  readonly servers: Readonly<Record<string, ServerFigures>>;
}

interface ServerFigures {
  /** Milliseconds from the start to the first response. */
  readonly start: number;
  /** Bytes that are resident under load, and the most there ever were. */
  readonly memory: number;
  readonly peak: number;
  readonly settling?: Settling | undefined;
}

export function summarize({ slices, starts, settling, peaks }: Results): Summary {
  const workloads: Record<string, Record<string, Figures>> = {};
  const servers: Record<string, Summary['servers'][string]> = {};
  for (const server of Object.keys(starts)) {
    const own = slices.filter((slice) => slice.server === server);
    for (const [workload = '', some = []] of Object.entries(Object.groupBy(own, (slice) => slice.workload))) {
      const others = slices.filter((slice) => slice.workload === workload);
      (workloads[workload] ??= {})[server] = figuresOf(some, others);
    }
    if (own.length > 0) {
      servers[server] = {
        start: median(starts[server] ?? []),
        memory: median(own.map((slice) => slice.memory)),
        peak: peaks[server] ?? NaN,
        settling: settling[server],
      };
    }
  }
  return { workloads, servers };
}

/** The figures of all workloads that were measured; objects put names that are numbers first. */
export function inOrder(workloads: Summary['workloads']): [workload: string, Summary['workloads'][string]][] {
  return measured.flatMap(({ name }) => (workloads[name] ? [[name, workloads[name]]] : []));
}

function figuresOf(own: readonly Slice[], all: readonly Slice[]): Figures {
  const medians = FIGURES.map((figure) => [figure, median(own.map((slice) => slice[figure]))]);
  const [toBase, toTextbook] = [ratios(own, all, 'base'), ratios(own, all, 'textbook')];
  return {
    ...(Object.fromEntries(medians) as Record<(typeof FIGURES)[number], number>),
    ...(toBase && { toBase }),
    ...(toTextbook && { toTextbook }),
  };
}

function ratios(own: readonly Slice[], all: readonly Slice[], server: string): Ratios | undefined {
  const others = all.filter((slice) => slice.server === server);
  const pairs = own.flatMap((slice) =>
    others.filter(({ round }) => round === slice.round).map((other) => ({ slice, other })),
  );
  return others.length === 0
    ? undefined
    : {
        processor: median(pairs.map(({ slice, other }) => other.processor / slice.processor)),
        postgresql: median(pairs.map(({ slice, other }) => slice.postgresql / other.postgresql)),
        throughput: median(pairs.map(({ slice, other }) => slice.throughput / other.throughput)),
        p99: median(pairs.map(({ slice, other }) => slice.p99 / other.p99)),
      };
}
