import { execFileSync } from 'node:child_process';
import { chownSync, closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from './child.js';

const MIB = 2 ** 20;

/** Writes until so many bytes are free, whatever others write to the file system at the same time. */
function writeUntil(left: number, directory: string, descriptor: number): void {
  const zeros = Buffer.alloc(MIB);
  const excess = () => {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize - left;
  };
  try {
    for (let more = excess(); more > 0; more = excess()) writeSync(descriptor, zeros, 0, Math.min(more, MIB));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

/** A file system of so many MiB, which only root may mount. */
export function mountDisk(size: number, owner?: Account) {
  const directory = mkdtempSync(join(tmpdir(), 'items-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}m`, 'tmpfs', directory], { stdio: 'pipe' });
  if (owner) chownSync(directory, owner.uid, owner.gid);
  const filler = join(directory, 'filler');
  return {
    directory,

    /** Fills it with another file until so many MiB are free. */
    fill: (left = 0) => {
      const descriptor = openSync(filler, 'w');
      writeUntil(left * MIB, directory, descriptor);
      closeSync(descriptor);
    },

    free: () => rmSync(filler),

    unmount: () => {
      execFileSync('umount', ['--lazy', directory]);
      rmdirSync(directory);
    },
  };
}
