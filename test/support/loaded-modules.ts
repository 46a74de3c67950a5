import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceProcess } from './process.js';
import { testDirectory } from './test-database.js';

/** Packages and files that a service without its database has loaded when it ends. */
export async function loadedBy(environment: NodeJS.ProcessEnv): Promise<string[]> {
  const NODE_V8_COVERAGE = await mkdtemp(join(testDirectory(), 'loaded-'));
  const service = await ServiceProcess.start({ DATABASE_URL: 'postgres://127.0.0.1:1/items', NODE_V8_COVERAGE, ...environment });
  await fetch(`${service.origin}/livez`);
  expect(await service.end('SIGTERM')).toBe(0);
  const [file = ''] = await readdir(NODE_V8_COVERAGE);
  const { result } = JSON.parse(await readFile(join(NODE_V8_COVERAGE, file), 'utf8')) as { result: { url: string }[] };
  const files = result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  return files.map((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url.replace(/.*\/dist\//, 'dist/'));
}
