import { execFile } from 'node:child_process';
import { cp, glob, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { transformFile } from '@swc/core';
import { type Program, SERVICE } from '../server.ts';

export const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const BY_HAND = join(PROJECT, 'bench/peers/servers/by-hand.ts');
const TEXTBOOK = 'bench/peers/servers/textbook';

/** Directory of another build of the service, to compare a change with what was before it. */
const { BENCH_BEFORE } = process.env;

/** @param directory - of the servers that are made with Nest: the project, or a copy by {@link installServers} */
export function programsIn(directory: string): readonly Program[] {
  return [
    { name: SERVICE.name, command: [join(directory, 'dist/main.js')] },
    ...(BENCH_BEFORE === undefined ? [] : [{ name: 'before', command: [join(directory, 'before/main.js')] }]),
    { name: 'base', command: [BY_HAND] },
    { name: 'ceiling', command: [BY_HAND, 'tuned'] },
    { name: 'textbook', command: [join(directory, TEXTBOOK, 'dist/main.js')] },
  ];
}

/**
 * Copies the servers that are made with Nest to a directory with the packages of the image alone: if those of the tests are
 * there, Nest loads `@nestjs/microservices` and `@nestjs/websockets`, too, which takes 10 MiB.
 */
export async function installServers(directory: string): Promise<void> {
  for (const path of ['package.json', 'package-lock.json', 'dist', `${TEXTBOOK}/dist`]) {
    await cp(join(PROJECT, path), join(directory, path), { recursive: true });
  }
  if (BENCH_BEFORE !== undefined) {
    await cp(resolve(BENCH_BEFORE), join(directory, 'before'), { recursive: true });
  }
  const options = ['--omit=dev', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', ['ci', ...options], { cwd: directory });
}

/** Compiles the one server that Node cannot run as it is, because of its decorators. */
export async function compileTextbook(): Promise<void> {
  const source = join(PROJECT, TEXTBOOK);
  for await (const file of glob('*.ts', { cwd: source })) {
    const target = join(source, 'dist', file.replace(/ts$/, 'js'));
    const { code } = await transformFile(join(source, file), {
      swcrc: false,
      jsc: {
        target: 'es2024',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
      module: { type: 'es6' },
    });
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, code);
  }
}
