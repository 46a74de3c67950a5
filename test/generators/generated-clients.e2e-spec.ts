import { execFile } from 'node:child_process';
import { cp, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { generateToken } from '../../src/platform/auth/token-format.js';
import { ServiceProcess } from '../support/process.js';
import { createEmbedded, testDirectory } from '../support/test-database.js';

const SOURCES = ['openapi-fetch.ts', 'orval.ts', 'outcomes.ts', 'orval.config.ts', 'tsconfig.json'];
const run = promisify(execFile);

let directory: string;
let parameters: string[];

/** Directory of the generators' packages, installed by `npm ci` beside their programs. */
const { TEST_GENERATORS: packages = '' } = process.env;

beforeAll(async () => {
  directory = await mkdtemp(join(testDirectory(), 'generators-'));
  const [token, readerToken] = [generateToken(), generateToken()];
  const AUTH_TOKENS_FILE = join(directory, 'tokens');
  await writeFile(AUTH_TOKENS_FILE, `all:${token}\nreader:${readerToken}:items:read\n`);
  const { environment } = await createEmbedded();
  const service = await ServiceProcess.startReady({ ...environment, AUTH_TOKENS_FILE });
  const AWAY = { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items', RATE_LIMIT: '1' };
  const away = () => ServiceProcess.start({ ...AWAY, AUTH_TOKENS_FILE });
  // One for each client: the second request is beyond the limit.
  const origins = [(await away()).origin, (await away()).origin];
  parameters = [service.origin, ...origins, token, readerToken];

  await symlink(packages, join(directory, 'node_modules'));
  await Promise.all(SOURCES.map((name) => cp(resolve('.ci/generators', name), join(directory, name))));
  await cp('openapi.json', join(directory, 'openapi.json'));
  const generate = (command: string, ...args: string[]) =>
    run(process.execPath, [join(packages, command), ...args], { cwd: directory, env: { ...process.env, NODE_OPTIONS: '' } });
  await generate('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'generated/openapi-fetch.ts');
  await generate('orval/dist/bin/orval.mjs', '--config', 'orval.config.ts');
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
});

it('compile strictly, with the types of the document', async () => {
  expect(await run(resolve('node_modules/.bin/tsc'), ['-p', '.'], { cwd: directory })).toMatchObject({ stdout: '' });
});

it.each(['openapi-fetch', 'orval'])('create, read all pages, and receive each error as typed data: %s', async (name) => {
  const [origin = '', first = '', second = '', ...tokens] = parameters;
  const args = [origin, name === 'orval' ? second : first, ...tokens];
  const { stdout } = await run(process.execPath, [join(directory, `${name}.js`), ...args]);
  const seconds = expect.stringMatching(/^[1-9]\d*$/);
  const id = expect.stringMatching(/^[\w-]{36}$/);
  const outcomes = JSON.parse(stdout) as { walked: string[] };
  expect(outcomes).toEqual({
    created: { name: 'Blue bicycle', description: 'One bell.' },
    isReplayed: true,
    walked: expect.any(Array),
    problems: [
      [
        400,
        '/docs/problems#invalid-body',
        id,
        [
          ['/color', 'unknown'],
          ['/name', expect.any(String)],
        ],
      ],
      [
        400,
        '/docs/problems#invalid-parameters',
        id,
        [
          ['limit', 'range'],
          ['filter', 'unknown_field'],
        ],
      ],
      [401, '/docs/problems#unauthorized', 'Bearer realm="items", error="invalid_token"', []],
      [
        403,
        '/docs/problems#insufficient-scope',
        expect.stringMatching(/error="insufficient_scope", scope="items:write"/),
        [],
      ],
      [404, '/docs/problems#not-found', id, []],
      [413, '/docs/problems#content-too-large', id, []],
      [422, expect.stringMatching(/idempotency-key/), id, []],
      [503, expect.stringMatching(/unavailable/), seconds, []],
      [429, '/docs/problems#rate-limited', seconds, []],
    ],
  });
  // The second client finds also the items of the first one.
  const own = ['5', '4', '3', '2', 'Blue bicycle'];
  expect(outcomes.walked).toEqual(name === 'orval' ? [...own, ...own] : own);
});
