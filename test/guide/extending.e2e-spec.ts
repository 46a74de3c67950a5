import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.js';
import { eventually } from '../support/service.js';

// Follows docs/extending.md command by command, in a copy of the project that already contains the ordinary module.

const guide = readFileSync('docs/extending.md', 'utf8');
const blocks = [...guide.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }));

/** Which file a block is of, by its first line, and the parts of that which it has. */
function partsOf({ text }: { text: string }): { path: string; parts: string[] } {
  const [, path = '', content = ''] = /^\/\/ (\S+)\n([^]*)$/.exec(text) ?? [];
  return { path, parts: content.split(/^\/\/ …$/m) };
}

/** Converts a fixture to its text in the guide, where widgets are gadgets and the platform has another relative path. */
const rename = (text: string) =>
  text
    .replaceAll('widget', 'gadget')
    .replaceAll('Widget', 'Gadget')
    .replaceAll('WIDGET', 'GADGET')
    .replaceAll(/'(?:\.\.\/)+src\/platform/g, (path) => (path.startsWith("'../../../..") ? "'../../platform" : "'../platform"));

/** The files of the modules that the tests know, by their paths in the guide. */
const files = new Map(
  readdirSync('test/fixtures').flatMap((name) =>
    globSync('**/*.ts', { cwd: join('test/fixtures', name) }).map((path) => [
      rename(join('src', name, path)),
      rename(readFileSync(join('test/fixtures', name, path), 'utf8')),
    ]),
  ),
);

const shown = blocks.filter(({ language }) => language === 'ts').map(partsOf);

it.each(shown)('shows parts of $path as in the tests', ({ path, parts }) => {
  // How lines break depends on names and on where the platform is.
  const plain = (text: string) => text.replaceAll(/\s/g, '').replaceAll(/,(?=[)\]}])/g, '');
  for (const part of parts) {
    expect(plain(files.get(path) ?? '')).toContain(plain(part));
  }
});

describe('in a copy of the project', () => {
  const directory = mkdtempSync(join(tmpdir(), 'items-guide-'));
  const output: string[] = [];
  let environment: NodeJS.ProcessEnv;
  let service: ChildProcess | undefined;

  beforeAll(async () => {
    const left = new Set(['node_modules', 'dist', 'data', 'coverage', 'reports', '.git', '.env']);
    // Tests that the guide does not run would only be linted and checked once more.
    const filter = (path: string) => !/^test\/(?!openapi).*\.e2e-spec\.ts$/.test(path);
    for (const name of readdirSync('.').filter((entry) => !left.has(entry))) {
      cpSync(name, join(directory, name), { recursive: true, filter });
    }
    symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
    write('src/cats/');
    const appModule = join(directory, 'src/app.module.ts');
    const registered = readFileSync(appModule, 'utf8').replace('ItemsModule]', 'ItemsModule, CatsModule]');
    writeFileSync(appModule, `import { CatsModule } from './cats/cats.module.js';\n${registered}`);
    const inherited = Object.entries(process.env).filter(([name]) => !/^(?:TEST|JEST|npm)_/.test(name));
    environment = { ...Object.fromEntries(inherited), PORT: String(await freePort()), METRICS_PORT: '0' };
  });

  afterAll(() => {
    if (service?.pid !== undefined) {
      process.kill(-service.pid, 'SIGKILL');
    }
    rmSync(directory, { recursive: true, force: true });
  });

  const tokenShown = () => /items_\w{36}/.exec(output.join(''))?.[0];

  /** Runs commands, and stops at the first failure. */
  async function run(commands: string): Promise<string> {
    const options = { cwd: directory, env: environment, maxBuffer: 2 ** 26 };
    const { stdout, stderr } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options);
    output.push(stdout, stderr);
    return stdout;
  }

  /** Writes the files of a module, with the digits of the migration that was generated, as the guide says. */
  function write(folder: string): void {
    const [migration = ''] = globSync(`${folder}migrations/*`, { cwd: directory });
    const digits = /\d{13}/.exec(migration)?.[0];
    for (const [path, content] of [...files].filter(([name]) => name.startsWith(folder))) {
      const [file, text] = [path, content].map((part) => (digits === undefined ? part : part.replaceAll(/\d{13}/g, digits)));
      mkdirSync(dirname(join(directory, file ?? '')), { recursive: true });
      writeFileSync(join(directory, file ?? ''), text ?? '');
    }
  }

  it('runs every command in the order of the guide', async () => {
    const changes = blocks.findIndex(({ text }) => text.startsWith('// src/gadgets/'));
    let last = '';
    for (const [index, { language, text }] of blocks.entries()) {
      if (index === changes) {
        write('src/gadgets/');
      } else if (text === 'npm start\n') {
        service = spawn('npm', ['start'], { cwd: directory, env: environment, detached: true });
        service.stdout?.setEncoding('utf8').on('data', (chunk: string) => output.push(chunk));
        // It builds before it starts.
        await eventually(() => tokenShown() !== undefined, 120);
      } else if (language === 'sh') {
        // Packages are already installed, and port 3000 may be taken.
        const commands = text.replace(/^npm ci$/m, '').replace('items_…', tokenShown() ?? '');
        last = await run(commands.replaceAll('localhost:3000', `localhost:${environment['PORT']}`));
      }
    }
    const [created = '', listed = ''] = last.split(/(?<=\})(?=\{)/);
    expect(JSON.parse(created)).toMatchObject({ name: 'Sprocket', price: 1250, size: 'small' });
    expect(JSON.parse(listed)).toEqual({ items: [JSON.parse(created)] });
    expect(output.join('')).toContain('PASS test/gadgets.e2e-spec.ts');
  }, 600_000);
});
