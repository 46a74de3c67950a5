import { writeSync } from 'node:fs';
import { Counter } from 'prom-client';
import { SERVICE_NAME } from '../service/service.js';

/** Milliseconds to wait for a slow reader of the log, and between two attempts. */
const TIMES = { reader: 1000, retry: 5 };

/** Lines that are written together at most. */
const MOST_LINES = 100;

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/** Of the process, because commands and the start log without an application. */
export const droppedLines = new Counter({
  name: `${SERVICE_NAME}_log_lines_dropped_total`,
  help: 'Log lines that could not be written, for example because the disk is full',
  registers: [],
});

/**
 * Writes log lines to a file descriptor. Lines that cannot be written (full disk, no reader for a second) are dropped and
 * counted.
 */
export class LogOutput {
  /** Whether the latest lines were dropped: the next ones then do not wait. */
  private isFailing = false;
  /** Of this turn. */
  private readonly lines: string[] = [];

  /** @param isBatched - whether the lines of an event loop turn are written together */
  constructor(
    private readonly fd: number,
    private readonly isBatched = false,
  ) {}

  write(line: string): void {
    const count = this.lines.push(line);
    if (!this.isBatched || count === MOST_LINES) {
      this.flush();
    } else if (count === 1) {
      setImmediate(this.flush);
      process.once('exit', this.flush);
    }
  }

  private readonly flush = (): void => {
    process.off('exit', this.flush);
    const lines = this.lines.splice(0);
    if (lines.length === 0) {
      return;
    }
    const deadline = performance.now() + (this.isFailing ? 0 : TIMES.reader);
    // A dropped line may have been written in part.
    let rest = Buffer.from((this.isFailing ? '\n' : '') + lines.join(''));
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.fd, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() >= deadline) {
          this.drop(lines.length, error);
          return;
        }
        Atomics.wait(neverNotified, 0, 0, TIMES.retry);
      }
    }
    this.isFailing = false;
  };

  private drop(count: number, error: unknown): void {
    droppedLines.inc(count);
    try {
      if (!this.isFailing) writeSync(process.stderr.fd, `Log lines are dropped: ${String(error)}\n`);
    } catch {
      // stderr fails as well.
    }
    this.isFailing = true;
  }
}
