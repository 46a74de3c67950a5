import { withProcessorTime } from '../load.ts';
import { sendAtRate } from '../open-loop.ts';
import { countBackendTime, residentMemory } from '../processes.ts';
import { showProgress } from '../report.ts';
import { HIGH_LIMIT, type Program, type Server, startServer } from '../server.ts';
import { sendCheckedLoad, sendLoad } from '../wrk.ts';
import type { Data } from './data.ts';
import { measureSettling, type Settling } from './settling.ts';
import { loadOf, type Mix, type Workload } from './workloads.ts';

/** What is measured, and for how long. */
export interface Options {
  readonly programs: readonly Program[];
  readonly workloads: readonly (Workload | Mix)[];
  readonly rounds: number;
  /** Seconds of load at a time. */
  readonly slice: number;
  /** Seconds of each load before the measurement. */
  readonly warmUp: number;
  /** How often each server is started to take its time. */
  readonly starts: number;
}

/** One server under one workload in one round. */
export interface Slice {
  readonly server: string;
  readonly workload: string;
  readonly round: number;
  /** Responses in a second. */
  readonly throughput: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of the server's CPU time for one request. */
  readonly processor: number;
  /** The same of PostgreSQL. */
  readonly postgresql: number;
  /** Bytes at the end. */
  readonly memory: number;
}

export interface Results {
  readonly slices: readonly Slice[];
  /** Milliseconds from each start to the first response, by the server. */
  readonly starts: Readonly<Record<string, readonly number[]>>;
  /** By the server. */
  readonly settling: Readonly<Record<string, Settling>>;
  /** Most bytes of memory that were resident, by the server. */
  readonly peaks: Readonly<Record<string, number>>;
}

/** Measures the servers side by side: those with one rate limit together. */
export async function measureAll(options: Options, data: Data): Promise<Results> {
  const slices: Slice[] = [];
  const peaks: Record<string, number> = {};
  const settling: Record<string, Settling> = {};
  const starts = await measureStarts(options, data);
  for (const limits of new Set(options.workloads.map((workload) => workload.limits))) {
    const servers: Server[] = [];
    const workloads = options.workloads.filter((workload) => workload.limits === limits);
    try {
      for (const program of options.programs) {
        const server = await startServer(program, data.url, data.tokens[0] ?? '', limits);
        servers.push(server);
        // Before the others, of the same process that all workloads have.
        if (limits === HIGH_LIMIT) {
          settling[server.name] = await measureSettling(server, data);
          showProgress('settling', servers.length, options.programs.length);
        }
      }
      slices.push(...(await measureTogether(servers, { ...options, workloads }, data)));
      for (const { name, pid } of servers) {
        peaks[name] = Math.max(peaks[name] ?? 0, residentMemory(pid).peak);
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  }
  return { slices, starts, settling, peaks };
}

/**
 * Puts one server under a load that is not measured, and if refusals are wanted, until it refuses every request. The load comes in
 * slices as the measured one does: new connections make V8 compile anew, several times before it is done.
 *
 * @returns responses in a second, at the end
 */
export async function warmUp(
  server: Server,
  workload: Workload | Mix,
  data: Data,
  seconds: number,
  slice = 2,
): Promise<number> {
  if ('parts' in workload) {
    // Before unknown ones have used up the failures of the address.
    for (const token of data.tokens) await fetch(`${server.url}?limit=1`, { headers: { Authorization: `Bearer ${token}` } });
  }
  const load = await loadOf(workload, server, data);
  let isReady = false;
  let capacity = 0;
  for (let passed = 0; passed < seconds || !isReady; passed += slice) {
    const { requests, microseconds, refused } = await sendLoad(load, slice);
    isReady = load.refused !== 1 || refused === requests;
    capacity = requests / (microseconds / 1e6);
  }
  await data.reset();
  return capacity;
}

/** In short slices that alternate, in an order that changes, so that what disturbs the machine disturbs all alike. */
async function measureTogether(servers: readonly Server[], options: Options, data: Data): Promise<Slice[]> {
  const { workloads, rounds, slice } = options;
  let done = 0;
  /** Of the base, by the workload. */
  const capacities = new Map<string, number>();
  for (const server of servers) {
    // Each with all, so that every server is equally well compiled.
    for (const workload of workloads) {
      const capacity = await warmUp(server, workload, data, options.warmUp, slice);
      if (server.name === 'base') {
        capacities.set(workload.name, capacity);
      }
      showProgress('warm-ups', (done += 1), servers.length * workloads.length);
    }
  }
  const slices: Slice[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const workload of workloads) {
      const first = round % servers.length;
      for (const server of [...servers.slice(first), ...servers.slice(0, first)]) {
        const share = 'share' in workload ? workload.share : undefined;
        const capacity = capacities.get(workload.name);
        if (share !== undefined && capacity === undefined) {
          throw new Error(
            `"${workload.name}" needs the server "base", whose capacity it is a share of: add it to --servers.`,
          );
        }
        const rate = share === undefined ? undefined : share * Number(capacity);
        slices.push(await measure(server, workload, data, slice, round, rate));
      }
    }
    showProgress('rounds', round, rounds);
  }
  return slices;
}

/** @param rate - requests in a second; undefined for as many as the server responds to */
async function measure(
  server: Server,
  workload: Workload | Mix,
  data: Data,
  seconds: number,
  round: number,
  rate?: number,
): Promise<Slice> {
  const load = await loadOf(workload, server, data);
  const send = () => (rate === undefined ? sendCheckedLoad(load, seconds) : sendAtRate(load, rate, seconds));
  const backendTime = await countBackendTime(data.client);
  const { requests, microseconds, p50, p99, processor } = await withProcessorTime(server.pid, send);
  const postgresql = (await backendTime()) / requests;
  await data.reset();
  const throughput = requests / (microseconds / 1e6);
  const memory = residentMemory(server.pid).now;
  return { server: server.name, workload: workload.name, round, throughput, p50, p99, processor, postgresql, memory };
}

async function measureStarts({ programs, starts }: Options, data: Data): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = {};
  for (let start = 0; start < starts; start += 1) {
    for (const program of programs) {
      const server = await startServer(program, data.url, data.tokens[0] ?? '');
      await server.stop();
      (times[program.name] ??= []).push(server.startTime);
    }
  }
  return times;
}
