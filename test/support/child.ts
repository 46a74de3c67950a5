import { type ChildProcess, execFileSync, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';

const children = new Set<Child>();
const directories = new Set<string>();

// A test that fails must leave neither processes nor files behind.
afterAll(async () => {
  await Promise.all([...children].map((child) => child.end(child.lastSignal)));
  await Promise.all([...directories].map((directory) => rm(directory, { recursive: true, force: true })));
});

/** User of a server; by default the user who runs the tests. */
export type Account = { uid: number; gid: number } | undefined;

/** The account of a system user for servers that refuse to run as root; our own when we are not root. */
export function accountOf(user: string): Account {
  const idOf = (option: string) => Number(execFileSync('id', [option, user], { encoding: 'utf8' }));
  return process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined;
}

/** A directory for a server's files, removed after the tests of the file. */
export function serverDirectory(name: string, owner?: Account): string {
  const directory = mkdtempSync(join(tmpdir(), `items-${name}-`));
  directories.add(directory);
  if (owner) {
    chownSync(directory, owner.uid, owner.gid);
  }
  return directory;
}

/** How a process ended and what it said. */
export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A process: a third-party server such as Redis, a command, or the service. */
export class Child {
  /** What it said until now. */
  readonly output = { stdout: '', stderr: '' };
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;

  /** @param command - that stays in the foreground @param lastSignal - how to get rid of it after the tests */
  constructor(
    command: string,
    args: string[],
    options: SpawnOptions = {},
    readonly lastSignal: NodeJS.Signals = 'SIGKILL',
  ) {
    this.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', ...options });
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => (this.output[name] += text));
    }
    // A command that does not exist has an error instead.
    const closed = once(this.child, 'close').catch((error: unknown) => [String(error)]);
    this.ended = closed.then(([code]) => ({ code: code as number | null, ...this.output }));
    children.add(this);
  }

  /** Waits for a condition; a check that throws counts as false. @throws Error with its output after it has ended */
  becomes(isSo: () => Promise<boolean> | boolean): Promise<void> {
    return eventually(async () => {
      if (this.child.pid === undefined || this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`${this.child.spawnfile} ended: ${this.output.stdout}${this.output.stderr}`);
      }
      try {
        return await isSo();
      } catch {
        return false;
      }
    });
  }

  /** Sends a signal and waits for the end; one that has ended already is left as it is. @returns the exit code, null after a deadly signal */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    // A process that is stopped takes no other signal than SIGKILL.
    this.child.kill('SIGCONT');
    return (await this.ended).code;
  }
}
