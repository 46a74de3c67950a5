import { writeSync } from 'node:fs';
import { Counter } from 'prom-client';

/** Milliseconds to wait for a slow reader of the log, and between two attempts. */
const READER_TIMEOUT = 1000;
const READER_INTERVAL = 5;

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/** Writes log lines to a file descriptor. Lines that cannot be written (full disk, no reader for a second) are dropped and counted. */
export class LogOutput {
  readonly dropped = new Counter({
    name: 'items_log_lines_dropped_total',
    help: 'Log lines that could not be written, for example because the disk is full',
    registers: [],
  });
  /** Whether the latest line was dropped: the next one then does not wait. */
  private isFailing = false;

  constructor(private readonly fd: number) {}

  write(line: string): void {
    const deadline = performance.now() + (this.isFailing ? 0 : READER_TIMEOUT);
    let rest = Buffer.from(line);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.fd, rest));
      } catch (error) {
        const isFull = Error.isError(error) && 'code' in error && error.code === 'EAGAIN';
        if (!isFull || performance.now() >= deadline) {
          this.drop(error);
          return;
        }
        Atomics.wait(neverNotified, 0, 0, READER_INTERVAL);
      }
    }
    this.isFailing = false;
  }

  private drop(error: unknown): void {
    this.dropped.inc();
    try {
      if (!this.isFailing) writeSync(process.stderr.fd, `Log lines are dropped: ${String(error)}\n`);
    } catch {
      // stderr fails as well.
    }
    this.isFailing = true;
  }
}
