import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { resolve } from 'node:path';

/** The tracked and the new files of the project. */
export function projectFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], { encoding: 'utf8' }).split('\0');
  return [...new Set(listed)].filter((path) => lstatSync(path || '?', { throwIfNoEntry: false })?.isFile());
}

export const readText = (path: string): string => readFileSync(path, 'utf8');

/** Copies files into a directory with the packages of the project, and makes it a repository without changes. */
export function copyProject(files: readonly string[], directory: string): void {
  execFileSync('cp', ['--parents', '-t', directory, ...files]);
  symlinkSync(resolve('node_modules'), `${directory}/node_modules`);
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  const exclude = `${directory}/.git/info/exclude`;
  for (const args of [
    ['init', '-q'],
    ['add', '-A', '--', ':!node_modules'],
    [...author, 'commit', '-qm', 'Start'],
  ]) {
    execFileSync('git', args, { cwd: directory });
  }
  execFileSync('bash', ['-c', 'echo /node_modules >> "$0"', exclude]);
}
