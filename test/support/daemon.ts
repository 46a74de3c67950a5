import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';

const daemons = new Set<Daemon>();
const directories = new Set<string>();

// A test that fails must leave neither servers nor files behind.
afterAll(async () => {
  await Promise.all([...daemons].map((daemon) => daemon.end(daemon.lastSignal)));
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

/** A third-party server, such as Redis, in a separate process. */
export class Daemon {
  output = '';
  private readonly child: ChildProcess;
  private readonly closed: Promise<unknown>;

  /** @param command - that stays in the foreground @param lastSignal - how to get rid of it after the tests */
  constructor(
    command: string,
    args: string[],
    account?: Account,
    readonly lastSignal: NodeJS.Signals = 'SIGKILL',
  ) {
    this.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', ...account });
    this.closed = once(this.child, 'close').catch((error: unknown) => (this.output += String(error)));
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    daemons.add(this);
  }

  /** Waits for a condition; a check that throws counts as false. @throws Error with the server's output after it has ended */
  becomes(isSo: () => Promise<boolean>): Promise<void> {
    return eventually(() => {
      if (this.child.pid === undefined || this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`${this.child.spawnfile} ended: ${this.output}`);
      }
      return isSo().catch(() => false);
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Sends a signal and waits for the end; one that has ended already is left as it is. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.child.kill(signal);
    // A process that is stopped takes no other signal than SIGKILL.
    this.child.kill('SIGCONT');
    await this.closed;
  }
}
