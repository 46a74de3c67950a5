import { writeSync } from 'node:fs';

/** File descriptor of standard error. */
const STDERR = 2;

/** How long to wait for a reader that is slower than the log, and between two attempts meanwhile, in milliseconds. */
const READER_TIMEOUT = 1000;
const READER_INTERVAL = 5;

/** Least time between two messages about dropped lines, in milliseconds. */
const MESSAGE_INTERVAL = 60_000;

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes the lines of the log to a file descriptor. A line that cannot be written, because the disk is full or because nothing reads the
 * pipe for a second, is dropped and counted: the service goes on without it.
 */
export class LogOutput {
  /** Lines dropped since the start. */
  dropped = 0;
  /** Whether the latest line was dropped: until one is written again, nothing waits for a reader. */
  private isFailing = false;
  /** Whether the last line that was written lacks its end. */
  private isTorn = false;
  private messageAt = -Infinity;

  /** @param fd - open for writing */
  constructor(private readonly fd: number) {}

  /** @param lines - whole ones, as pino writes them */
  write(lines: string): void {
    let rest = Buffer.from(this.isTorn ? `\n${lines}` : lines);
    try {
      while (rest.length > 0) {
        const written = this.writeSome(rest);
        rest = rest.subarray(written);
        this.isTorn = rest.length > 0;
      }
      this.isFailing = false;
    } catch (error) {
      this.isFailing = true;
      this.dropped += 1;
      this.report(error);
    }
  }

  /** @returns how many bytes were written. @throws Error `EAGAIN` when the pipe stays full, or what else prevents it */
  private writeSome(bytes: Buffer): number {
    const deadline = performance.now() + (this.isFailing ? 0 : READER_TIMEOUT);
    for (;;) {
      try {
        return writeSync(this.fd, bytes);
      } catch (error) {
        const isFull = Error.isError(error) && 'code' in error && error.code === 'EAGAIN';
        if (!isFull || performance.now() >= deadline) {
          throw error;
        }
        Atomics.wait(neverNotified, 0, 0, READER_INTERVAL);
      }
    }
  }

  private report(error: unknown): void {
    const now = performance.now();
    if (now - this.messageAt > MESSAGE_INTERVAL) {
      this.messageAt = now;
      try {
        writeSync(STDERR, `Log lines are dropped, ${this.dropped} until now: ${String(error)}\n`);
      } catch {
        // Nothing can be written anywhere.
      }
    }
  }
}
