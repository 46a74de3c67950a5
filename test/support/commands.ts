import { closeSync, mkdtempSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Writable } from 'node:stream';
import type { Outcome } from './process.js';
import { testDirectory } from './test-database.js';

const PROJECT = process.cwd();

let runs = 0;

/** A stream of a process in a file: the log goes to its descriptor, other texts to the stream. */
class Output extends Writable {
  readonly fd: number;
  readonly isTTY = false;

  constructor(private readonly path: string) {
    super();
    this.fd = openSync(path, 'a');
  }

  /** At once, with its callback: what runs after the command would end the process of the tests. */
  override write(text: string, ...rest: unknown[]): boolean {
    writeSync(this.fd, text);
    (rest.at(-1) as (() => void) | undefined)?.();
    return true;
  }

  /** Ignores all that is still written to it. */
  mute(): void {
    this.write = () => true;
  }

  read(): string {
    closeSync(this.fd);
    return readFileSync(this.path, 'utf8');
  }
}

/** Gives the process other properties. @returns restores them */
function replaceInProcess(replacements: object): () => void {
  const before = Object.getOwnPropertyDescriptors(process);
  for (const [name, value] of Object.entries(replacements)) {
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  }
  return () => {
    for (const name of Object.keys(replacements)) Object.defineProperty(process, name, before[name] ?? {});
  };
}

/**
 * Runs a command of the command-line interface like `runCli`, but in this process, one at a time: that takes a fifth of the CPU time.
 * Not for a `doctor` that connects, because it leaves its connections to the end of its process.
 *
 * @param workingDirectory - by default an empty one: a developer's .env and ./data stay out of it
 */
export async function runCommand(
  args: string[],
  environment: NodeJS.ProcessEnv,
  workingDirectory?: string,
): Promise<Outcome> {
  const directory = mkdtempSync(join(testDirectory(), 'command-'));
  const [stdout, stderr] = [new Output(join(directory, 'stdout')), new Output(join(directory, 'stderr'))];
  let code: number | undefined;
  const restore = replaceInProcess({
    stdout,
    stderr,
    argv: [process.execPath, resolve(PROJECT, 'dist/cli.js'), ...args],
    env: { LOG_FORMAT: 'json', ...environment },
    exit: (given: number) => {
      code ??= given;
      // Nothing runs after the end of a process: what catches this error has nothing to say.
      for (const output of [stdout, stderr]) output.mute();
      throw new Error(`The process ends with code ${given}.`);
    },
  });
  process.chdir(workingDirectory ?? directory);
  try {
    runs += 1;
    // A module of its own for each run, which shares all that it imports.
    await import(`${PROJECT}/src/commands.ts?${runs}`);
  } catch (error) {
    if (code === undefined) throw error;
  } finally {
    process.chdir(PROJECT);
    restore();
  }
  return { code: code ?? 0, stdout: stdout.read(), stderr: stderr.read() };
}
