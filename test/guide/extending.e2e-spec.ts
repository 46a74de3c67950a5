import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import * as prettier from 'prettier';
import { freePort } from '../support/free-port.js';
import { eventually } from '../support/service.js';

// Does what docs/extending.md says, command by command and file by file, in a copy of the project.

const FIXTURE = 'test/fixtures/widgets';
const guide = readFileSync('docs/extending.md', 'utf8');
const blocks = [...guide.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }));

/** Where the file of a block goes, which its first line tells, and what is in it. */
function fileOf({ text }: { text: string }): { path: string; content: string } {
  const [, path = '', content = ''] = /^\/\/ (\S+)\n([^]*)$/.exec(text) ?? [];
  return { path, content };
}

it('shows the second module that the tests know, under another name', async () => {
  const rename = (text: string) =>
    text.replaceAll('widget', 'gadget').replaceAll('Widget', 'Gadget').replaceAll('WIDGET', 'GADGET');
  const config = JSON.parse(readFileSync('.prettierrc.json', 'utf8')) as prettier.Options;
  // How a list of imports breaks depends on how far away the platform is.
  const normal = (text: string) =>
    prettier.format(text.replaceAll(/'(?:\.\.\/)+(?:src\/)?platform/g, "'platform"), { ...config, parser: 'typescript' });
  const shown = blocks.filter(({ language }) => language === 'ts').map(fileOf);
  const expected = globSync('**/*.ts', { cwd: FIXTURE });
  expect(shown.map(({ path }) => path).toSorted()).toEqual(expected.map((path) => `src/gadgets/${rename(path)}`).toSorted());
  for (const path of expected) {
    const { content = '' } = shown.find((file) => file.path === `src/gadgets/${rename(path)}`) ?? {};
    expect(await normal(content)).toBe(await normal(rename(readFileSync(join(FIXTURE, path), 'utf8'))));
  }
});

describe('in a copy of the project', () => {
  const directory = mkdtempSync(join(tmpdir(), 'items-guide-'));
  const output: string[] = [];
  let environment: NodeJS.ProcessEnv;
  let service: ChildProcess | undefined;

  beforeAll(async () => {
    const left = new Set(['node_modules', 'build', 'dist', 'data', 'coverage', 'reports', '.git', '.env']);
    // Tests that the guide does not run would only be linted and checked once more.
    const filter = (path: string) => !/^test\/(?!openapi).*\.e2e-spec\.ts$/.test(path);
    for (const name of readdirSync('.').filter((entry) => !left.has(entry))) {
      cpSync(name, join(directory, name), { recursive: true, filter });
    }
    symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
    const inherited = Object.entries(process.env).filter(([name]) => !/^(?:TEST|JEST|ITEMS|npm)_/.test(name));
    environment = { ...Object.fromEntries(inherited), PORT: String(await freePort()), METRICS_PORT: '0' };
  });

  afterAll(() => {
    if (service?.pid !== undefined) {
      process.kill(-service.pid, 'SIGKILL');
    }
    rmSync(directory, { recursive: true, force: true });
  });

  const tokenShown = () => /items_\w{36}/.exec(output.join(''))?.[0];

  /** Runs the commands as a reader does who goes on only if they work. */
  async function run(commands: string): Promise<string> {
    const options = { cwd: directory, env: environment, maxBuffer: 2 ** 26 };
    const { stdout, stderr } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options);
    output.push(stdout, stderr);
    return stdout;
  }

  /** With the digits of the migration that was generated, as the guide tells to do. */
  function write({ path, content }: { path: string; content: string }): void {
    const [migration = ''] = globSync('src/gadgets/migrations/*', { cwd: directory });
    const withDigits = (text: string) => text.replaceAll(/\d{13}/g, /\d{13}/.exec(migration)?.[0] ?? '');
    writeFileSync(join(directory, withDigits(path)), withDigits(content));
  }

  it('every command and every file works, in the order of the guide', async () => {
    let last = '';
    for (const block of blocks) {
      if (block.language === 'ts') {
        write(fileOf(block));
      } else if (block.text === 'npm start\n') {
        service = spawn('npm', ['start'], { cwd: directory, env: environment, detached: true });
        service.stdout?.setEncoding('utf8').on('data', (text: string) => output.push(text));
        // It builds before it starts.
        await eventually(() => tokenShown() !== undefined, 120);
      } else {
        // What is installed is installed already, and port 3000 may be somebody else's.
        const commands = block.text.replace(/^npm ci$/m, '').replace('items_…', tokenShown() ?? '');
        last = await run(commands.replaceAll('localhost:3000', `localhost:${environment['PORT']}`));
      }
    }
    const [created = '', listed = ''] = last.split(/(?<=\})(?=\{)/);
    expect(JSON.parse(created)).toMatchObject({ name: 'Sprocket', price: 1250, size: 'small' });
    expect(JSON.parse(listed)).toEqual({ items: [JSON.parse(created)] });
    expect(output.join('')).toContain('PASS test/gadgets.e2e-spec.ts');
  }, 600_000);
});
