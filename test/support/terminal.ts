import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { testDirectory } from './test-database.js';

const COLUMNS = 150;

const ESCAPE = '\u{1b}';

/** Takes away what stands from the cursor on. */
const ERASE = `${ESCAPE}[K`;

/** What a terminal obeys, and what it shows. */
const TOKENS = new RegExp(String.raw`\r|${ESCAPE}\[[0-9;]*[A-Za-z]|[^\r]`, 'gu');

const sessions = new Set<ChildProcess>();

// A test that fails must not leave its processes behind.
afterAll(() => {
  for (const session of sessions) session.kill('SIGKILL');
});

/** A command of the built command-line interface, run in a real pseudo terminal. */
export class TerminalSession {
  /** All that was written to the terminal, as it was. */
  written = '';
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;

  private constructor(private readonly child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.written += text));
    this.ended = once(child, 'close').then(([code]) => code as number | null);
  }

  static run(args: string[], environment: NodeJS.ProcessEnv): TerminalSession {
    const command = [process.execPath, resolve('dist/cli.js'), ...args].map((word) => `'${word}'`).join(' ');
    const { PATH } = process.env;
    const env = { PATH, TERM: 'xterm', SHELL: '/bin/sh', ...environment };
    const script = ['-qec', `stty cols ${COLUMNS}; exec ${command}`, '/dev/null'];
    const child = spawn('script', script, { env, cwd: testDirectory(), stdio: ['pipe', 'pipe', 'inherit'] });
    sessions.add(child);
    return new TerminalSession(child);
  }

  /** Types at it. */
  type(keys: string): void {
    this.child.stdin?.write(keys);
  }

  /** The lines that are left to be seen, without colours. */
  get screen(): string[] {
    return this.written.split('\r\n').map(lastOf);
  }

  /** Every text that the last line ever showed, without colours. */
  get shown(): string[] {
    const lines = this.written.split('\r\n').flatMap((line) => line.split(`\r${ERASE}`));
    return lines.map((text) => stripVTControlCharacters(text));
  }
}

/** What a terminal shows of a line on which the cursor went back, and what stood there was taken away. */
function lastOf(line: string): string {
  let cells: string[] = [];
  let column = 0;
  for (const [token] of line.matchAll(TOKENS)) {
    if (token === '\r') {
      column = 0;
    } else if (token === ERASE) {
      cells = cells.slice(0, column);
    } else if (!token.startsWith(ESCAPE)) {
      cells[column] = token;
      column += 1;
    }
  }
  return cells.join('');
}
