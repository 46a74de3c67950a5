import { setTimeout as delay } from 'node:timers/promises';
import { countProcessorTime } from '../processor-time.ts';
import type { Data } from './data.ts';
import { loadOf } from './load.ts';
import { residentMemory } from './resident-memory.ts';
import type { Server } from './server.ts';
import type { Workload } from './workloads.ts';
import { sendLoad } from './wrk.ts';

/** What one server did in one slice of a run. */
export interface Slice {
  readonly server: string;
  readonly workload: string;
  readonly round: number;
  /** Answers in a second. */
  readonly throughput: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of the server's processor time for one request. */
  readonly processor: number;
  /** Bytes at the end. */
  readonly memory: number;
}

/**
 * Puts one server under a load that is not counted, and if refusals are wanted, for as long as it lets requests in. It comes in slices
 * as the measured one does: new connections make V8 compile anew, several times before it is done.
 *
 * @param seconds - at least
 * @param slice - seconds of each
 */
export async function warmUp(server: Server, workload: Workload, data: Data, seconds: number, slice = 2): Promise<void> {
  const load = await loadOf(workload, server, data);
  let isReady = false;
  for (let passed = 0; passed < seconds || !isReady; passed += slice) {
    const { requests, refused } = await sendLoad(load, slice);
    isReady = workload.status < 400 || refused === requests;
  }
  await undo(workload, data);
}

/**
 * Puts one server under one load.
 *
 * @throws Error when an answer was not the one that the workload is about
 */
export async function measure(server: Server, workload: Workload, data: Data, seconds: number, round: number): Promise<Slice> {
  const load = await loadOf(workload, server, data);
  const processorTime = countProcessorTime([server.pid]);
  const { requests, microseconds, p50, p99, refused, broken } = await sendLoad(load, seconds);
  // Requests that wrk gave up at its end are still under way.
  await delay(20);
  const used = processorTime();
  await undo(workload, data);
  if (requests === 0 || broken > 0 || refused !== (workload.status < 400 ? 0 : requests)) {
    const counts = `${requests} requests, ${refused} answered 400 or more, ${broken} without an answer`;
    throw new Error(`The server "${server.kind.name}" was not to answer "${workload.name}" like that: ${counts}.`);
  }
  return {
    server: server.kind.name,
    workload: workload.name,
    round,
    throughput: requests / (microseconds / 1e6),
    p50,
    p99,
    processor: used / requests,
    memory: residentMemory(server.pid).now,
  };
}

async function undo({ method }: Workload, data: Data): Promise<void> {
  if (method === 'POST') {
    await data.reset();
  }
}
