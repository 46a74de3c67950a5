import { readFileSync } from 'node:fs';

/** Length of a clock tick of `/proc/<pid>/stat` in microseconds, on every architecture of Linux. */
const TICK = 10_000;

/** Microseconds of processor time that a process has used, its own and the system's for it. */
export function processorTime(pid: number): number {
  // Fields 14 and 15 of proc(5); the name before them may have spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK;
}

/** Bytes of memory that a process has resident, now and at most so far. */
export function residentMemory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}
