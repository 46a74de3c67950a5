import { createWriteStream, type WriteStream } from 'node:fs';
import type { Readable } from 'node:stream';

/** Lines that operators are woken for, and what Node prints about leaks. */
const ALARMING = /"level":"(?:error|fatal)"|MaxListenersExceededWarning|ResourceWarning|heap out of memory|^\s+at /;

/** Something that a process should not have written. */
export interface Alarm {
  readonly time: number;
  readonly line: string;
}

/** Reads the standard output and standard error of an instance, and keeps what is alarming. */
export class Log {
  readonly alarms: Alarm[] = [];
  private readonly output: Readable;
  private readonly copy: WriteStream | undefined;

  /** @param file - that keeps all of it */
  constructor(output: Readable, errors: Readable, file?: string) {
    this.output = output;
    this.copy = file === undefined ? undefined : createWriteStream(file);
    this.read(output);
    this.read(errors);
  }

  /** Reads nothing for some time, as a slow collector of logs. @returns a function that continues */
  stall(): () => void {
    this.output.pause();
    return () => this.output.resume();
  }

  private read(stream: Readable): void {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      this.copy?.write(text);
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (ALARMING.test(line)) this.alarms.push({ time: performance.now(), line });
      }
    });
  }
}
