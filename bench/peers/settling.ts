import { withProcessorTime } from '../load.ts';
import type { Server } from '../server.ts';
import { median } from '../statistics.ts';
import { sendCheckedLoad } from '../wrk.ts';
import type { Data } from './data.ts';
import { choose, loadOf, workloads } from './workloads.ts';

/** Seconds of load after a start; those at its end are settled. */
const LONGEST = 25;
const LAST = 5;

/** How much more than settled a second counts as settled, too. */
const TOLERANCE = 1.1;

/** Seconds of creates before the pages, and of these. */
const CHANGED = 5;

/** How a server gets used to a load. */
export interface Settling {
  /** Seconds of first pages after the start until each second takes as much CPU time as later ones. */
  readonly seconds: number;
  /** The most CPU time of a first page, in one of five seconds after other requests, ÷ when settled. */
  readonly afterChange: number;
}

/** Measures a server that has just started. */
export async function measureSettling(server: Server, data: Data): Promise<Settling> {
  const pages = await timesOf('first page', server, data, LONGEST);
  const settled = median(pages.slice(-LAST));
  const seconds = 1 + pages.findLastIndex((time) => time > TOLERANCE * settled);
  await timesOf('create', server, data, CHANGED);
  const afterChange = Math.max(...(await timesOf('first page', server, data, CHANGED))) / settled;
  await data.reset();
  return { seconds, afterChange };
}

/** Microseconds of CPU time of a request, in each second of a load. */
async function timesOf(name: string, server: Server, data: Data, seconds: number): Promise<number[]> {
  const [workload] = choose('workloads', workloads, name);
  const load = workload && (await loadOf(workload, server, data));
  const times: number[] = [];
  while (load && times.length < seconds) {
    times.push((await withProcessorTime(server.pid, () => sendCheckedLoad(load, 1))).processor);
  }
  return times;
}
