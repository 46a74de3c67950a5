import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceProcess } from './process.js';
import { testDirectory } from './test-database.js';

/** Makes a process write down at its end what it has loaded: a line for each module, behind it who asked for it first. */
function noting(path: string): string {
  const code = `
    import { writeFileSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    const loaded = new Map();
    registerHooks({ resolve: (name, context, next) => {
      const found = next(name, context);
      if (!loaded.has(found.url)) loaded.set(found.url, context.parentURL);
      return found;
    } });
    process.on('exit', () => writeFileSync(${JSON.stringify(path)}, [...loaded].map((line) => line.join(' ')).join('\\n')));`;
  return `--import data:text/javascript,${encodeURIComponent(code).replaceAll("'", '%27')}`;
}

/** A module as it is named here: its package, or its file among those of the service. */
function nameOf(url = ''): string {
  return /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url.replace(/.*\/dist\//, 'dist/');
}

/** What a service without its database loads until it ends: for each file, who asks for what. */
export async function loadedBy(environment: NodeJS.ProcessEnv): Promise<string[]> {
  const path = join(testDirectory(), `loaded-${randomBytes(4).toString('hex')}`);
  const away = { DATABASE_URL: 'postgres://127.0.0.1:1/items', NODE_OPTIONS: noting(path) };
  const service = await ServiceProcess.start({ ...away, ...environment });
  await fetch(`${service.origin}/livez`);
  expect(await service.end('SIGTERM')).toBe(0);
  const lines = (await readFile(path, 'utf8')).split('\n').map((line) => line.split(' '));
  return lines.filter(([url]) => url?.startsWith('file:')).map(([url, parent]) => `${nameOf(parent)} > ${nameOf(url)}`);
}
