import { type ChildProcess, execFileSync, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.ts';

const programs = new Set<Program>();
const directories = new Set<string>();

/** User of a server; by default the user who runs the test. */
export type Account = { uid: number; gid: number } | undefined;

/** The account of a system user for servers that refuse to run as root; our own when we are not root. */
export function accountOf(user: string): Account {
  const idOf = (option: string) => Number(execFileSync('id', [option, user], { encoding: 'utf8' }));
  return process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined;
}

/** A directory for files of a server, until the end of the test. */
export function newDirectory(name: string, owner?: Account): string {
  const directory = mkdtempSync(join(tmpdir(), `items-soak-${name}-`));
  directories.add(directory);
  if (owner) chownSync(directory, owner.uid, owner.gid);
  return directory;
}

/** A server in a process of its own. */
export class Program {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  private readonly command: string;
  /** Latest standard error, for the message if it ends early. */
  private stderr = '';
  private readonly lastSignal: NodeJS.Signals;

  /** @param lastSignal - that ends it, whatever it does, after the test */
  constructor(command: string, args: readonly string[], options: SpawnOptions = {}, lastSignal: NodeJS.Signals = 'SIGKILL') {
    this.command = command;
    this.lastSignal = lastSignal;
    this.child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/', ...options });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr = (this.stderr + text).slice(-2000)));
    this.ended = once(this.child, 'close').then(([code]) => code as number | null);
    programs.add(this);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits for a condition; a check that throws counts as false. */
  becomes(isSo: () => Promise<boolean>): Promise<void> {
    return eventually(() => {
      if (!this.isRunning) throw new Error(`${this.command} ended: ${this.stderr}`);
      return isSo().catch(() => false);
    });
  }

  /** @returns the exit code, null after a deadly signal */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    const code = await this.ended;
    programs.delete(this);
    return code;
  }

  /** Stops it, and all processes that it has started, from running until the returned function is called. */
  freeze(): () => void {
    const pids = [this.pid, ...descendantsOf(this.pid)];
    signalAll(pids, 'SIGSTOP');
    return () => signalAll(pids, 'SIGCONT');
  }

  endAtLast(): Promise<number | null> {
    return this.end(this.lastSignal);
  }
}

/** Ends what still runs, and removes all files. */
export async function endAll(): Promise<void> {
  await Promise.all([...programs].map((program) => program.endAtLast()));
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
}

function descendantsOf(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const children = tasks.flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '));
  const pids = children.filter(Boolean).map(Number);
  return pids.concat(pids.flatMap(descendantsOf));
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}
