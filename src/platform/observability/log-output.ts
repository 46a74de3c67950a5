import { writeSync } from 'node:fs';
import { Counter } from 'prom-client';
import { SERVICE_NAME } from '../service/service.js';

/** Milliseconds between two attempts to write to a slow reader, and for which a write can block the process. */
const TIMES = { retry: 5, end: 1000 };

/** Maximum characters of lines that wait for a slow reader. */
const MOST_WAITING = 1_048_576;

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/** Counts for the whole process, because commands and the start log without an application. */
export const droppedLines = new Counter({
  name: `${SERVICE_NAME}_log_lines_dropped_total`,
  help: 'Log lines that could not be written, for example because the disk is full',
  registers: [],
});

/**
 * Writes log lines to a file descriptor. Those for which a pipe has no room wait for its reader, without blocking the event
 * loop. Lines beyond 1 MiB of these, and lines that cannot be written (full disk), are dropped and counted.
 *
 * `pino.destination`, which does most of this, does not let a process end while the disk is full.
 */
export class LogOutput {
  /** Whether lines have been dropped, and that reported, since all lines could be written. */
  private isFailing = false;
  /** Whether the latest line may have been written in part. */
  private isCut = false;
  /** Lines that are not yet written, and their length in characters. */
  private lines: string[] = [];
  private length = 0;
  /** The unwritten rest of the lines of the latest write, and their number. */
  private rest = Buffer.alloc(0);
  private restLines = 0;
  private retryTimer: NodeJS.Timeout | undefined;

  /** @param isBatched - whether lines of an event loop turn are written together; if not, each blocks for a slow reader */
  constructor(
    private readonly fd: number,
    private readonly isBatched = false,
  ) {}

  write(line: string): void {
    const isFull = () => this.rest.length + this.length > MOST_WAITING;
    if (isFull() && this.retryTimer === undefined) {
      this.flush();
    }
    if (isFull()) {
      this.drop(1, 'their reader is too slow');
      return;
    }
    this.length += line.length;
    const count = this.lines.push(line);
    const isWaiting = this.retryTimer !== undefined;
    if (!this.isBatched) {
      (isWaiting ? this.flush : this.flushWaiting)();
    } else if (!isWaiting && count === 1) {
      setImmediate(this.flush);
      process.once('exit', this.flushWaiting);
    }
  }

  private readonly flush = (): void => this.flushUntil(0);

  /** Blocks while the reader is slow, for a second at most. */
  private readonly flushWaiting = (): void => this.flushUntil(performance.now() + TIMES.end);

  /** @param deadline - until which it blocks for a slow reader, by `performance.now()` */
  private flushUntil(deadline: number): void {
    clearTimeout(this.retryTimer);
    this.retryTimer = undefined;
    process.off('exit', this.flushWaiting);
    try {
      while (this.rest.length > 0 || this.lines.length > 0) {
        if (this.rest.length === 0) this.takeLines();
        this.rest = this.rest.subarray(writeSync(this.fd, this.rest));
        this.isCut = false;
      }
      this.isFailing = false;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') {
        this.drop(this.restLines + this.lines.length, error);
        this.rest = Buffer.alloc(0);
        this.lines = [];
        this.length = 0;
        this.isCut = true;
      } else if (performance.now() < deadline) {
        Atomics.wait(neverNotified, 0, 0, TIMES.retry);
        this.flushUntil(deadline);
      } else {
        this.retryTimer = setTimeout(this.flush, TIMES.retry).unref();
        process.once('exit', this.flushWaiting);
      }
    }
  }

  private takeLines(): void {
    this.rest = Buffer.from((this.isCut ? '\n' : '') + this.lines.join(''));
    this.restLines = this.lines.length;
    this.lines = [];
    this.length = 0;
  }

  private drop(count: number, reason: unknown): void {
    droppedLines.inc(count);
    try {
      if (!this.isFailing) writeSync(process.stderr.fd, `Log lines are dropped: ${String(reason)}\n`);
    } catch {
      // stderr fails as well.
    }
    this.isFailing = true;
  }
}
