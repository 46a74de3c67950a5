import { writeSync } from 'node:fs';

/** Milliseconds to wait for a reader that is slower than the log, and between two attempts. */
const READER_TIMEOUT = 1000;
const READER_INTERVAL = 5;

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes log lines to a file descriptor. A line that cannot be written, because the disk is full or nothing reads the pipe for a second, is
 * dropped and counted: the service goes on without it.
 */
export class LogOutput {
  /** Lines dropped since the start. */
  dropped = 0;
  /** Whether the latest line was dropped: the next one does not wait for a reader. */
  private isFailing = false;
  /** Whether the last line that was written lacks its end. */
  private isTorn = false;

  constructor(private readonly fd: number) {}

  write(lines: string): void {
    const deadline = performance.now() + (this.isFailing ? 0 : READER_TIMEOUT);
    let rest = Buffer.from(this.isTorn ? `\n${lines}` : lines);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.fd, rest));
        this.isTorn = rest.length > 0;
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
    this.dropped += 1;
    if (!this.isFailing) {
      this.isFailing = true;
      try {
        writeSync(process.stderr.fd, `Log lines are dropped, ${this.dropped} until now: ${String(error)}\n`);
      } catch {
        // Nothing can be written anywhere.
      }
    }
  }
}
