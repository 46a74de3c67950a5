import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Client } from 'pg';

/** Microseconds of processor time that processes of this machine have used so far, all their threads together. */
export function processorTime(pids: readonly (number | undefined)[]): number {
  return (
    pids.reduce<number>((total, pid) => total + threadsOf(pid).reduce((sum, thread) => sum + nanosecondsOf(thread), 0), 0) / 1000
  );
}

/** The processes in which PostgreSQL, on this machine, serves the connections to a database, but for that of the client. */
export async function backendsOf(client: Client): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  return rows.map(({ pid }) => pid);
}

/** Seconds that all processors of this machine together were busy so far, with whatever it was. */
export function busySeconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0) / 1000;
}

/** Notes what processes have used so far. @returns tells what they have used since, in microseconds, but for those that have ended */
export function countProcessorTime(pids: readonly (number | undefined)[]): () => number {
  const before = pids.map((pid) => ({ pid, used: processorTime([pid]) }));
  return () => before.reduce((sum, { pid, used }) => sum + Math.max(0, processorTime([pid]) - used), 0);
}

function threadsOf(pid: number | undefined): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  } catch {
    // It has ended, as connections do that nobody used for a while.
    return [];
  }
}

/** Time on a processor, the first of the three numbers that Linux keeps there; a hundred thousand times finer than in `stat`. */
function nanosecondsOf(thread: string): number {
  try {
    return Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    // It has just ended.
    return 0;
  }
}
