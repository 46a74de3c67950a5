import { glob, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

const SOURCE = fileURLToPath(new URL('servers/textbook/', import.meta.url));

/** Compiles the one server that Node cannot run as it is, for its decorators. */
export async function compileTextbook(): Promise<void> {
  for await (const file of glob('**/*.ts', { cwd: SOURCE })) {
    const target = join(SOURCE, 'dist', file.replace(/ts$/, 'js'));
    const { code } = await transformFile(join(SOURCE, file), {
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
