import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SERVICE_NAME } from '../../src/platform/service/service.js';
import { freePort } from '../support/free-port.js';
import { copyProject, projectFiles } from '../support/project-copy.js';
import { eventually } from '../support/service.js';

// Gives a copy of the project another name, checks it, and runs it.

const NAME = (SERVICE_NAME as string) === 'orders' ? 'library' : 'orders';
/** Tests in which the name is nearly everywhere. */
const SUITES = '/test/(metrics|openapi|operations)|/test/tools/(conventions|documents)|token-format|guarantees';

const directory = mkdtempSync(join(tmpdir(), 'rename-'));
const inherited = Object.entries(process.env).filter(([name]) => !/^(?:TEST|JEST|npm|GIT)_/.test(name));
const output: string[] = [];
let environment: NodeJS.ProcessEnv;
let service: ChildProcess | undefined;

/** @throws Error with the output of a command that fails */
const run = async (command: string) => {
  const options = { cwd: directory, env: environment, maxBuffer: 2 ** 26 };
  const bash = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], options);
  const { stdout } = await bash.catch((error: Error & { stdout: string }) => {
    throw new Error(`${error.message}\n${error.stdout}`);
  });
  return stdout;
};

beforeAll(async () => {
  const [port, metricsPort] = [await freePort(), await freePort()].map(String);
  environment = { ...Object.fromEntries(inherited), PORT: port, METRICS_PORT: metricsPort };
  copyProject(projectFiles(), directory);
});

afterAll(() => {
  if (service?.pid !== undefined && service.exitCode === null) process.kill(-service.pid, 'SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

it('renames the service in every file, and the feature in none', async () => {
  expect(await run(`npm run --silent rename -- ${NAME}`)).toContain(`The service is ${NAME} instead of ${SERVICE_NAME} now`);
  expect(existsSync(join(directory, `deploy/observability/${NAME}-service.rules.yaml`))).toBe(true);
  expect(await run('git diff HEAD --stat -- src/items test/fixtures ":!*.spec.ts" | cat')).toBe('');
});

it('is formatted, compiles, and makes the same openapi.json and client', async () => {
  const made = 'cat openapi.json clients/typescript/src/generated/*.ts';
  const before = await run(made);
  await run('npx prettier --check --log-level warn . && npx tsc && npm run --silent openapi');
  expect(await run(made)).toBe(before);
}, 1_200_000);

it('starts with a token, metrics and a challenge of the new name', async () => {
  service = spawn('npm', ['run', 'start:prod'], { cwd: directory, env: environment, detached: true });
  for (const stream of [service.stdout, service.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => output.push(chunk));
  }
  const token = new RegExp(`${NAME}_\\w{36}`);
  const tokenShown = () => token.exec(output.join(''))?.[0];
  await eventually(() => tokenShown() !== undefined || service?.exitCode !== null, 120);
  expect(output.join('')).toMatch(token);
  const url = `http://127.0.0.1:${environment['PORT']}/v1/items`;
  const { status } = await fetch(url, { headers: { Authorization: `Bearer ${tokenShown()}` } });
  expect([status, (await fetch(url)).headers.get('www-authenticate')]).toEqual([200, `Bearer realm="${NAME}"`]);
  const metrics = await (await fetch(`http://127.0.0.1:${environment['METRICS_PORT']}/metrics`)).text();
  const names = [...metrics.matchAll(/^# TYPE (?!nodejs|process)(\w+?)_/gm)].map(([, prefix]) => prefix);
  expect([...new Set(names)]).toEqual([NAME]);
}, 300_000);

// Its name comes after the one that the tests know, in all that is sorted.
it('passes its tests, also with one more feature', async () => {
  await run('npm run --silent generate -- zebras --with get,update,delete');
  for (const tests of [`'${SUITES}|/test/(public-url|zebras)'`, `test/cli -t 'knows the scopes'`]) {
    const result = await run(`npm run --silent jest -- ${tests} 2>&1`);
    expect(result).toMatch(/^Tests: +(?:\d+ skipped, )?\d+ passed, \d+ total$/m);
  }
}, 1_200_000);

it('is linted without the example, as the guide removes it', async () => {
  await run(`rm -r src/items bench test/mutants test/soak tools/guarantees tools/mutants
    find test -name '*.e2e-spec.ts' ! -path test/tools/conventions.e2e-spec.ts -delete
    sed -i '/import { ItemsModule }/d; s/, ItemsModule//; /^ *ItemsModule,$/d' src/app.module.ts test/support/*.ts`);
  await run('npx oxlint -c .oxlintrc.strict.json --deny-warnings src/platform test tools clients');
}, 300_000);
