import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Child } from '../support/child.js';
import { preload } from '../support/doctor.js';
import { serverDefaults } from '../support/process.js';
import { createTestDatabase, testDirectory } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

/** Each SIGHUP writes how often functions were called since the one before. */
const COVERAGE = "import { takeCoverage } from 'node:v8'; process.on('SIGHUP', takeCoverage);";

interface Coverage {
  result: { url: string; functions: { ranges: { count: number }[] }[] }[];
}

const ARCHITECTURE = readFileSync('docs/architecture.md', 'utf8');

it('docs/architecture.md lists the files that a first page passes', async () => {
  const NODE_V8_COVERAGE = mkdtempSync(join(testDirectory(), 'coverage-'));
  const { environment } = await createTestDatabase();
  const token = await issueToken(environment);
  const service = new Child(process.execPath, ['dist/main.js'], {
    cwd: process.cwd(),
    env: { ...process.env, ...serverDefaults, ...environment, NODE_V8_COVERAGE, ...preload(COVERAGE) },
  });
  await service.becomes(() => service.output.stdout.includes('database ready'));
  const [, origin = ''] = /Listening on (http:[^\s",]+)/.exec(service.output.stdout) ?? [];
  const call = async (init: RequestInit = {}) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    expect((await fetch(`${origin}/v1/items`, { ...init, headers })).ok).toBe(true);
    // Logs and metrics are written after the response is sent.
    await delay(100);
  };
  const called = async (times: number) => {
    service.child.kill('SIGHUP');
    const read = () => {
      const files = readdirSync(NODE_V8_COVERAGE).toSorted();
      return files.length < times ? '' : readFileSync(join(NODE_V8_COVERAGE, files.at(-1) ?? ''), 'utf8');
    };
    await service.becomes(() => read().trimEnd().endsWith('}'));
    const { result } = JSON.parse(read()) as Coverage;
    return result.filter(({ functions }) => functions.some(({ ranges: [range] }) => (range?.count ?? 0) > 0));
  };
  await call({ method: 'POST', body: '{"name": "Blue bicycle"}' });
  await call();
  await called(1);
  await call();
  const scripts = await called(2);
  await service.end('SIGTERM');
  const passed = scripts.flatMap(({ url }) => /^(?!.*node_modules).*\/dist\/(?:platform\/)?(.*)\.js$/.exec(url)?.[1] ?? []);
  const listed = [...ARCHITECTURE.matchAll(/^\| `([a-z/]+)` +\| (`[\w.-]+\.ts`.*)\|$/gm)].flatMap(([, room, files = '']) =>
    [...files.matchAll(/`(.*?)\.ts`/g)].map(([, file]) => `${room}/${file}`),
  );
  expect(passed.toSorted()).toEqual(listed.toSorted());
  expect(ARCHITECTURE).toContain(`calls functions of ${listed.length} files,`);
});
