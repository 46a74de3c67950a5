import { inParts } from '../progress.ts';
import type { Data } from './data.ts';
import type { Kind } from './kinds.ts';
import { measure, type Slice, warmUp } from './measure.ts';
import type { Options } from './options.ts';
import { residentMemory } from './resident-memory.ts';
import { type Server, startServer } from './server.ts';
import { AMPLE } from './settings.ts';
import type { Workload } from './workloads.ts';

/** All that was measured. */
export interface Results {
  readonly slices: readonly Slice[];
  /** Milliseconds from each start to the first answer, by the server. */
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
      for (const kind of options.kinds.filter((one) => workloads.some((workload) => isFor(one, workload)))) {
        servers.push(await startServer(kind, data.url, data.tokens[0] ?? '', limits));
      }
      slices.push(...(await measureTogether(servers, workloads, data, options)));
      for (const { kind, pid } of servers) {
        peaks[kind.name] = Math.max(peaks[kind.name] ?? 0, residentMemory(pid).peak);
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  }
  return { slices, starts, peaks };
}

/** In short slices that alternate, in an order that changes, so that what disturbs the machine disturbs all alike. */
async function measureTogether(
  servers: readonly Server[],
  workloads: readonly Workload[],
  data: Data,
  options: Options,
): Promise<Slice[]> {
  // All with all, so that every server is equally well compiled.
  const pairs = servers.flatMap((server) => workloads.map((workload) => ({ server, workload })));
  await inParts('warm-ups', pairs.length, 1, async (number) => {
    for (const { server, workload } of pairs.slice(number - 1, number)) {
      await warmUp(server, workload, data, options.warmUp, options.slice);
    }
  });
  const slices: Slice[] = [];
  await inParts('rounds', options.rounds, 1, async (round) => {
    for (const workload of workloads) {
      const measured = servers.filter(({ kind }) => isFor(kind, workload));
      const first = round % measured.length;
      for (const server of [...measured.slice(first), ...measured.slice(0, first)]) {
        slices.push(await measure(server, workload, data, options.slice, round));
      }
    }
  });
  return slices;
}

async function measureStarts({ kinds, starts }: Options, data: Data): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = {};
  for (let start = 0; start < starts; start += 1) {
    for (const kind of kinds) {
      const server = await startServer(kind, data.url, data.tokens[0] ?? '', AMPLE);
      await server.stop();
      (times[kind.name] ??= []).push(server.startTime);
    }
  }
  return times;
}

function isFor({ workloads }: Kind, { name }: Workload): boolean {
  return workloads?.includes(name) ?? true;
}
