import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.js';
import { blocksOf, guideFiles } from '../support/guide.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

// Follows docs/tutorial.md command by command, up to the rollout in a cluster, in a copy of the project that already contains the
// ordinary module.

const directory = mkdtempSync(join(tmpdir(), 'items-guide-'));
const output: string[] = [];
/** The output of each block of commands, by its text in the tutorial. */
const outputs = new Map<string, string>();
let environment: NodeJS.ProcessEnv;
let database: TestDatabase;
let service: ChildProcess | undefined;

beforeAll(async () => {
  const left = new Set(['node_modules', 'dist', 'data', 'coverage', 'reports', '.git', '.env']);
  // Tests that the guide does not run would only be linted and checked once more.
  const isLeft = /^test\/(?!openapi|cats|schema-drift).*\.e2e-spec\.ts$|^src\/gadgets$/;
  const filter = (path: string) => !isLeft.test(path);
  for (const name of readdirSync('.').filter((entry) => !left.has(entry))) {
    cpSync(name, join(directory, name), { recursive: true, filter });
  }
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  write('src/cats/');
  const appModule = join(directory, 'src/app.module.ts');
  // Who has followed the tutorial has its feature already.
  const text = readFileSync(appModule, 'utf8').replaceAll(/^import { GadgetsModule.*\n|, GadgetsModule/gm, '');
  const registered = text.replace('ItemsModule]', 'ItemsModule, CatsModule]');
  writeFileSync(appModule, `import { CatsModule } from './cats/cats.module.js';\n${registered}`);
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:TEST|JEST|npm)_/.test(name));
  const [PORT, METRICS_PORT] = [String(await freePort()), String(await freePort())];
  environment = { ...Object.fromEntries(inherited), PORT, METRICS_PORT };
  database = await createTestDatabase('empty');
});

afterAll(async () => {
  stop('SIGKILL');
  await database.drop();
  rmSync(directory, { recursive: true, force: true });
});

const isRunning = () => service !== undefined && service.exitCode === null && service.signalCode === null;

/** Ends the service with its npm scripts, as Ctrl+C does. */
function stop(signal: NodeJS.Signals): void {
  if (service?.pid !== undefined && isRunning()) process.kill(-service.pid, signal);
}

const tokenShown = () =>
  output
    .join('')
    .match(/items_\w{36}/g)
    ?.at(-1) ?? 'items_';

/** A command as it is run here: packages are installed, the ports of the tutorial may be taken, and the database is another one. */
function here(text: string): string {
  return text
    .replaceAll(/^(?:git clone|cd items-service|npm ci).*$/gm, '')
    .replaceAll('items_…', tokenShown())
    .replaceAll('localhost:3000', `localhost:${environment['PORT']}`)
    .replaceAll('localhost:9464', `localhost:${environment['METRICS_PORT']}`)
    .replaceAll(/postgres:\/\/user:\S+/g, databaseUrlOf(database));
}

/** Runs commands, and stops at the first failure. */
async function run(commands: string): Promise<void> {
  const options = { cwd: directory, env: environment, maxBuffer: 2 ** 26 };
  const { stdout, stderr } = await promisify(execFile)(
    'bash',
    ['--norc', '-euo', 'pipefail', '-c', here(commands)],
    options,
  );
  output.push(stdout, stderr);
  outputs.set(commands, stdout);
}

/** Starts the service, instead of the one that the reader has stopped before. */
async function start(command: string): Promise<void> {
  stop('SIGINT');
  await eventually(() => !isRunning());
  let lines = '';
  service = spawn('bash', ['--norc', '-c', here(command)], { cwd: directory, env: environment, detached: true });
  service.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output.push(chunk);
    lines += chunk;
  });
  // It builds before it starts, and the first start prints a token.
  await eventually(() => lines.includes('database ready') && tokenShown() !== 'items_', 120);
}

/** Writes the files of a module, with the digits of the migration that was generated, as the guide says. */
function write(folder: string): void {
  const [migration = ''] = globSync(`${folder}migrations/*`, { cwd: directory });
  const digits = /\d{13}/.exec(migration)?.[0];
  for (const [path, content] of [...guideFiles].filter(([name]) => name.startsWith(folder))) {
    const [file, text] = [path, content].map((part) => (digits === undefined ? part : part.replaceAll(/\d{13}/g, digits)));
    mkdirSync(dirname(join(directory, file ?? '')), { recursive: true });
    writeFileSync(join(directory, file ?? ''), text ?? '');
  }
}

/** The JSON texts, with no line between them, in the output of the only block that contains some text. */
function responsesOf(part: string): unknown[] {
  const [text = '', ...others] = [...outputs].flatMap(([commands, stdout]) => (commands.includes(part) ? [stdout] : []));
  expect(others).toEqual([]);
  return text
    .split(/(?<=\})(?=\{|items_)/)
    .filter((body) => body.startsWith('{'))
    .map((body) => JSON.parse(body) as unknown);
}

it('runs every command in the order of the tutorial', async () => {
  const blocks = blocksOf('docs/tutorial.md');
  const changes = blocks.findIndex(({ text }) => text.startsWith('// src/gadgets/'));
  for (const [index, { language, text }] of blocks.entries()) {
    if (index === changes) {
      write('src/gadgets/');
    } else if (/npm (?:start|run start:prod)$/m.test(text)) {
      await start(text);
    } else if (language === 'sh') {
      await run(text);
    }
  }
  const [created, listed] = responsesOf('"Sprocket"');
  expect(created).toMatchObject({ name: 'Sprocket', price: 1250, size: 'small' });
  expect(listed).toEqual({ items: [created] });
  const detail = 'The token lacks a scope: this operation needs gadgets:write.';
  expect(responsesOf('"Cog"')).toEqual([{ items: [] }, expect.objectContaining({ status: 403, detail })]);
  expect(output.join('')).toMatch(/items_http_request_duration_seconds_count\{.*route="\/v1\/gadgets",status="403"/);
  expect(output.join('')).toContain('PASS test/gadgets.e2e-spec.ts');
}, 1_200_000);

it('leaves the tests of the platform green, which have a table "gadgets" of their own and expect exact warnings', async () => {
  const titles = 'table that was changed|an ordinary module';
  const command = `env -u TEST_DATABASE_URL npm run --silent jest -- test/schema-drift test/cats -t '${titles}' 2>&1`;
  await run(command);
  expect(outputs.get(command)).toMatch(/^Test Suites: 2 passed, 2 total$/m);
}, 600_000);

it('compiles beside a package that declares other ids of requests, as pino-http does', async () => {
  const file = join(directory, 'src/pino-http.d.ts');
  writeFileSync(
    file,
    "import 'http';\ndeclare module 'http' { interface IncomingMessage { id: number | string | object } }\n",
  );
  await run('node_modules/.bin/tsc --noEmit --project tsconfig.json');
  rmSync(file);
}, 600_000);
