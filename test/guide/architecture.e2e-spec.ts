import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import { serverDefaults } from '../support/process.js';
import { createEmbedded, testDirectory } from '../support/test-database.js';

/** Loaded before the service: each SIGUSR2 writes the files whose functions were called since the one before. */
const COVERAGE = `
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true });
let times = 0;
process.on('SIGUSR2', async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const called = result.filter(({ functions }) => functions.some(({ ranges: [{ count }] }) => count > 0));
  writeFileSync(process.env.COVERAGE_FILE + '.new', JSON.stringify([(times += 1), called.map(({ url }) => url)]));
  renameSync(process.env.COVERAGE_FILE + '.new', process.env.COVERAGE_FILE);
});`;

/** What only the embedded database has. */
const EMBEDDED = 'database/embedded-database';

const ARCHITECTURE = readFileSync('docs/architecture.md', 'utf8');

let child: ChildProcess | undefined;

afterAll(() => child?.kill('SIGKILL'));

it('docs/architecture.md lists the files that a first page passes', async () => {
  const directory = mkdtempSync(join(testDirectory(), 'coverage-'));
  const [preload, COVERAGE_FILE] = [join(directory, 'preload.mjs'), join(directory, 'called.json')];
  writeFileSync(preload, COVERAGE);
  writeFileSync(COVERAGE_FILE, '[0, []]');
  const { environment } = await createEmbedded();
  const service = spawn(process.execPath, ['--import', preload, 'build/main.js'], {
    env: { ...process.env, ...serverDefaults, ...environment, COVERAGE_FILE },
  });
  child = service;
  let output = '';
  service.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await eventually(() => /items_\w{36}/.test(output));
  const [[token], [, origin = '']] = [/items_\w{36}/.exec(output) ?? [], /Listening on (http:[^\s",]+)/.exec(output) ?? []];
  const call = async (init: RequestInit = {}) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    expect((await fetch(`${origin}/v1/items`, { ...init, headers })).ok).toBe(true);
    // What is logged and measured once the response is sent.
    await delay(100);
  };
  const called = async (times: number) => {
    service.kill('SIGUSR2');
    const read = () => JSON.parse(readFileSync(COVERAGE_FILE, 'utf8')) as [number, string[]];
    await eventually(() => read()[0] === times);
    return read()[1];
  };
  await call({ method: 'POST', body: '{"name": "Blue bicycle"}' });
  await call();
  await called(1);
  await call();
  const urls = await called(2);
  service.kill('SIGTERM');
  await once(service, 'exit');
  const passed = urls.flatMap((url) => /^(?!.*node_modules).*\/build\/(?:platform\/)?(.*)\.js$/.exec(url)?.[1] ?? []);
  const listed = [...ARCHITECTURE.matchAll(/^\| `([a-z/]+)` +\| (`[\w.-]+\.ts`.*)\|$/gm)].flatMap(([, room, files = '']) =>
    [...files.matchAll(/`(.*?)\.ts`/g)].map(([, file]) => `${room}/${file}`),
  );
  expect(passed.filter((file) => file !== EMBEDDED).toSorted()).toEqual(listed.toSorted());
  expect(ARCHITECTURE).toContain(`calls functions of ${listed.length} of our files.`);
});
