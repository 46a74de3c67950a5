import { glob, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';
import { type Program, SERVICE } from '../server.ts';

const SERVERS = fileURLToPath(new URL('servers/', import.meta.url));

/** Directory of another build of the service, to compare a change with what was before it. */
const { BENCH_BEFORE } = process.env;

export const programs: readonly Program[] = [
  SERVICE,
  ...(BENCH_BEFORE === undefined ? [] : [{ name: 'before', command: [resolve(BENCH_BEFORE, 'main.js')] }]),
  { name: 'base', command: [`${SERVERS}by-hand.ts`] },
  { name: 'ceiling', command: [`${SERVERS}by-hand.ts`, 'tuned'] },
  { name: 'textbook', command: [`${SERVERS}textbook/dist/main.js`] },
];

/** Compiles the one server that Node cannot run as it is, because of its decorators. */
export async function compileTextbook(): Promise<void> {
  const source = `${SERVERS}textbook/`;
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
