import { setTimeout as delay } from 'node:timers/promises';
import { countBackendTime, countProcessorTime, residentMemory } from '../processes.ts';
import { showProgress } from '../report.ts';
import { type Program, type Server, startServer } from '../server.ts';
import { sendCheckedLoad, sendLoad } from '../wrk.ts';
import type { Data } from './data.ts';
import { loadOf, type Workload } from './workloads.ts';

/** What is measured, and for how long. */
export interface Options {
  readonly programs: readonly Program[];
  readonly workloads: readonly Workload[];
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
  /** Microseconds of the server's processor time for one request. */
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
  /** Most bytes of memory that were resident, by the server. */
  readonly peaks: Readonly<Record<string, number>>;
}

/** Measures the servers side by side: those with one rate limit together. */
export async function measureAll(options: Options, data: Data): Promise<Results> {
  const slices: Slice[] = [];
  const peaks: Record<string, number> = {};
  const starts = await measureStarts(options, data);
  for (const limits of new Set(options.workloads.map((workload) => workload.limits))) {
    const servers: Server[] = [];
    const workloads = options.workloads.filter((workload) => workload.limits === limits);
    try {
      for (const program of options.programs) {
        servers.push(await startServer(program, data.url, data.tokens[0] ?? '', limits));
      }
      slices.push(...(await measureTogether(servers, { ...options, workloads }, data)));
      for (const { name, pid } of servers) {
        peaks[name] = Math.max(peaks[name] ?? 0, residentMemory(pid).peak);
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  }
  return { slices, starts, peaks };
}

/**
 * Puts one server under a load that is not measured, and if refusals are wanted, until it refuses every request. The load comes in
 * slices as the measured one does: new connections make V8 compile anew, several times before it is done.
 */
export async function warmUp(server: Server, workload: Workload, data: Data, seconds: number, slice = 2): Promise<void> {
  const load = await loadOf(workload, server, data);
  let isReady = false;
  for (let passed = 0; passed < seconds || !isReady; passed += slice) {
    const { requests, refused } = await sendLoad(load, slice);
    isReady = workload.status < 400 || refused === requests;
  }
  await data.reset();
}

/** In short slices that alternate, in an order that changes, so that what disturbs the machine disturbs all alike. */
async function measureTogether(servers: readonly Server[], options: Options, data: Data): Promise<Slice[]> {
  const { workloads, rounds, slice } = options;
  let done = 0;
  for (const server of servers) {
    // Each with all, so that every server is equally well compiled.
    for (const workload of workloads) {
      await warmUp(server, workload, data, options.warmUp, slice);
      showProgress('warm-ups', (done += 1), servers.length * workloads.length);
    }
  }
  const slices: Slice[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const workload of workloads) {
      const first = round % servers.length;
      for (const server of [...servers.slice(first), ...servers.slice(0, first)]) {
        slices.push(await measure(server, workload, data, slice, round));
      }
    }
    showProgress('rounds', round, rounds);
  }
  return slices;
}

async function measure(server: Server, workload: Workload, data: Data, seconds: number, round: number): Promise<Slice> {
  const load = await loadOf(workload, server, data);
  const backendTime = await countBackendTime(data.client);
  const processorTime = countProcessorTime([server.pid]);
  const { requests, microseconds, p50, p99 } = await sendCheckedLoad(load, seconds);
  // For the requests that wrk gave up at its end.
  await delay(20);
  const processor = processorTime() / requests;
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
