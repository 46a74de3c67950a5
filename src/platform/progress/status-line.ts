import { Writable } from 'node:stream';

/** Back to the first column, and all that stands there away (ECMA-48, EL). */
const CLEAR = '\r\u{1b}[K';

/** Of a terminal that does not know its own, in columns. */
const USUAL_WIDTH = 80;

/**
 * The last line of a terminal, written anew again and again, while other lines scroll past above it. For what takes long: who
 * waits sees that it goes on, and no log is filled with it.
 */
export class StatusLine {
  private text = '';

  /** For what else goes to this terminal, in whole lines. */
  readonly above = new Writable({
    decodeStrings: false,
    write: (lines: string | Buffer, _encoding, done) => {
      this.terminal.write(this.text === '' ? lines : `${CLEAR}${lines.toString()}${this.text}`);
      done();
    },
  });

  private constructor(private readonly terminal: NodeJS.WriteStream) {
    // However the process ends, the prompt of the shell has a line of its own.
    process.once('exit', () => {
      this.clear();
    });
  }

  /** @returns undefined where there is no terminal, or one that cannot do this: be quiet there */
  static on(output: NodeJS.WriteStream): StatusLine | undefined {
    return output.isTTY && process.env['TERM'] !== 'dumb' ? new StatusLine(output) : undefined;
  }

  /** @param text - of which as much is shown as fits into the line */
  show(text: string): void {
    // In the last column, some terminals have gone to the next line already.
    this.text = Array.from(text.replaceAll(/\p{C}/gu, '?'))
      .slice(0, (this.terminal.columns || USUAL_WIDTH) - 1)
      .join('');
    this.terminal.write(CLEAR + this.text);
  }

  /** Leaves no trace of it. */
  clear(): void {
    if (this.text !== '') {
      this.text = '';
      this.terminal.write(CLEAR);
    }
  }
}
