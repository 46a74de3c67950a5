import { readdirSync, readFileSync } from 'node:fs';
import type { Client } from 'pg';

/** Notes what processes have used so far. @returns gives the microseconds of CPU time used since, all threads together */
export function countProcessorTime(pids: readonly number[]): () => number {
  const before = pids.map((pid) => ({ pid, used: processorTime(pid) }));
  return () => before.reduce((sum, { pid, used }) => sum + Math.max(0, processorTime(pid) - used), 0);
}

/** The same for {@link backendsOf} a client's database, also those that begin or end meanwhile. */
export async function countBackendTime(client: Client): Promise<() => Promise<number>> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const server = Number(statOf(rows[0]?.pid)[1]);
  const total = async () => {
    // What ended is counted by the server process, in hundredths of a second.
    const [user, system] = statOf(server).slice(13, 15);
    const ended = (Number(user) + Number(system)) * 10_000;
    return (await backendsOf(client)).reduce((sum, pid) => sum + processorTime(pid), ended);
  };
  const before = await total();
  return async () => (await total()) - before;
}

/** Fields of `/proc/<pid>/stat` that follow the name, of which the first is the state. */
function statOf(pid = 0): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
}

/** Bytes of memory that a process has resident, now and at most so far. */
export function residentMemory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

/** The processes in which PostgreSQL, on this machine, serves the other connections to the client's database. */
export async function backendsOf(client: Client): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  return rows.map(({ pid }) => pid);
}

/** Microseconds, from the nanoseconds in `schedstat`: `stat` counts in hundredths of a second. */
function processorTime(pid: number): number {
  const threads = unlessEnded(() => readdirSync(`/proc/${pid}/task`), []);
  const timeOf = (thread: string) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  return threads.reduce((sum, thread) => sum + unlessEnded(() => timeOf(thread), 0), 0) / 1000;
}

/** Processes and threads may end at any time, as connections do that are idle. */
function unlessEnded<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
