import { execFileSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from './child.js';

const MIB = 2 ** 20;

/** Writes until nothing fits any more, whatever others write to the file system at the same time. */
function writeAll(descriptor: number): void {
  const zeros = Buffer.alloc(MIB);
  try {
    for (;;) writeSync(descriptor, zeros);
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
      writeAll(descriptor);
      ftruncateSync(descriptor, fstatSync(descriptor).size - left * MIB);
      closeSync(descriptor);
    },

    free: () => rmSync(filler),

    unmount: () => {
      execFileSync('umount', ['--lazy', directory]);
      rmdirSync(directory);
    },
  };
}
