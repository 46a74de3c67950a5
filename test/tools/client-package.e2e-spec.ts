import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Api } from '../support/api.js';
import { ServiceProcess } from '../support/process.js';
import { createTestDatabase, testDirectory } from '../support/test-database.js';
import { declareToken } from '../support/tokens.js';

const PACKAGE = 'clients/typescript';
const run = promisify(execFile);

let api: Api;
let directory: string;

beforeAll(async () => {
  const { environment } = await createTestDatabase();
  const { token, variables } = await declareToken();
  const service = await ServiceProcess.startReady({ ...environment, ...variables });
  api = service.client(token);
  directory = await mkdtemp(join(testDirectory(), 'client-'));
});

it('is up to date with the generator: otherwise run `npm run client`', async () => {
  const generator = resolve('node_modules/@hey-api/openapi-ts/bin/run.js');
  await run(process.execPath, [generator, '-f', resolve(PACKAGE, 'openapi-ts.config.ts')], { cwd: directory });
  const generated = join(directory, PACKAGE, 'src/generated');
  expect(await readdir(generated)).toContain('sdk.gen.ts');
  // Prints the differences, and fails then.
  expect((await run('diff', ['-r', resolve(PACKAGE, 'src/generated'), generated])).stdout).toBe('');
});

it('packs, installs, compiles strictly without the types of Node, and works as in its README', async () => {
  await run('npm', ['pack', `./${PACKAGE}`, '--pack-destination', directory]);
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  await run('npm', ['install', '--offline', './items-service-client-1.0.0.tgz'], { cwd: directory });
  const [, example = ''] = /```ts\n([^]*?)```/.exec(await readFile(resolve(PACKAGE, 'README.md'), 'utf8')) ?? [];
  const program = example.replace('http://localhost:3000', api.origin).replace('items_…', api.token);
  await writeFile(join(directory, 'example.ts'), program);
  const options = '--target es2022 --module nodenext --strict --exactOptionalPropertyTypes --skipLibCheck false';
  await run(resolve('node_modules/.bin/tsc'), [...options.split(' '), 'example.ts'], { cwd: directory });
  const { stdout } = await run(process.execPath, ['example.js'], { cwd: directory });
  const { items } = (await api.list()).body;
  expect(stdout.split('\n')).toEqual([items[0]?.id, 'Blue bicycle', expect.stringContaining('/name'), '']);
});
