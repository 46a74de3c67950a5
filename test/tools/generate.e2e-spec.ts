import { spawnSync } from 'node:child_process';
import { cp, glob, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { testDirectory } from '../support/test-database.js';

/** The files that the command reads; `test/guide` runs it with npm in a copy of the whole project, and builds and tests the result. */
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(testDirectory(), 'project-'));
  await symlink(resolve('node_modules'), join(project, 'node_modules'));
  for (const path of ['src/items', 'src/app.module.ts', 'package.json', '.prettierrc.json']) {
    await cp(path, join(project, path), { recursive: true });
  }
  // A migration of the future must not be overtaken.
  await writeFile(join(project, 'src/items/migrations/4102444800000-later.ts'), '');
});

function run(script: string, ...args: string[]): { code: number | null; output: string } {
  const command = [`node_modules/.bin/${script}`, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: project, encoding: 'utf8' });
  return { code: status, output: stdout + stderr };
}

const generate = (...args: string[]) => run('schematics', '@service/schematics:feature', ...args);

async function snapshot(): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const path of glob('{src,test}/**/*.*', { cwd: project })) {
    files[path] = await readFile(join(project, path), 'utf8');
  }
  return files;
}

it('writes formatted and registered features, with the latest migration', async () => {
  const before = await snapshot();
  expect(generate('order-lines')).toMatchObject({ code: 0, output: expect.stringContaining('Singular: order-line.') });
  const longName = 'very-long-names-of-things-that-break-li';
  expect(generate('people', '--singular', longName, '--with', 'delete,get')).toMatchObject({ code: 0 });
  const after = await snapshot();
  const written = Object.keys(after).filter((path) => !(path in before));
  const filesOf = (plural: string, singular: string, timestamp: number) => [
    `src/${plural}/${singular}.entity.ts`,
    `src/${plural}/migrations/${timestamp}-create-${plural}.ts`,
    ...['controller', 'dto', 'module', 'service'].map((role) => `src/${plural}/${plural}.${role}.ts`),
    `test/${plural}.e2e-spec.ts`,
  ];
  const expected = [...filesOf('order-lines', 'order-line', 4102444800001), ...filesOf('people', longName, 4102444800002)];
  expect(written.toSorted()).toEqual(expected.toSorted());
  const appModule = after['src/app.module.ts'];
  expect(appModule).toContain("import { OrderLinesModule } from './order-lines/order-lines.module.js';");
  expect(appModule).toMatch(/, OrderLinesModule, PeopleModule\]/);
  const handlers = ['order-lines', 'people'].map((plural) =>
    [...(after[`src/${plural}/${plural}.controller.ts`] ?? '').matchAll(/async ([a-z]+)/g)].map(([, name]) => name),
  );
  expect(handlers).toEqual([
    ['list', 'create'],
    ['list', 'create', 'get', 'delete'],
  ]);
  expect(run('prettier', '--check', 'src/app.module.ts', ...written)).toMatchObject({ code: 0 });
});

it.each([
  ['items', [], 'src/items/items.module.ts exists already: choose another name, or remove it first.'],
  ['widgets', ['--with', 'get,put'], 'Data path "/with" must match pattern "^(get|update|delete)(,(get|update|delete))*$"'],
  ['widgets', ['--singluar', 'widget'], 'Unknown option "singluar"'],
])('rejects an invalid feature, and leaves nothing behind: %s %j', async (name, options, message) => {
  const before = await snapshot();
  expect(generate(name, ...options)).toEqual({ code: 1, output: expect.stringContaining(message) });
  expect(await snapshot()).toEqual(before);
});
