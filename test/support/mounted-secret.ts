import { mkdtempSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDirectory } from './test-database.js';

/** A file of a Secret as Kubernetes mounts it: a link into `..data`, which is itself a link that an update replaces. */
export class MountedSecret {
  readonly path: string;
  private readonly directory = mkdtempSync(join(testDirectory(), 'secret-'));
  private version = 0;

  constructor(content: string) {
    this.path = join(this.directory, 'password');
    symlinkSync(join('..data', 'password'), this.path);
    this.update(content);
  }

  update(content: string): void {
    this.version += 1;
    const name = `..version-${this.version}`;
    mkdirSync(join(this.directory, name));
    writeFileSync(join(this.directory, name, 'password'), content);
    const [next, data] = [join(this.directory, '..next'), join(this.directory, '..data')];
    symlinkSync(name, next);
    renameSync(next, data);
    rmSync(join(this.directory, `..version-${this.version - 1}`), { recursive: true, force: true });
  }

  /** As if the volume were gone, until the next update. */
  remove(): void {
    rmSync(join(this.directory, '..data'));
  }
}
