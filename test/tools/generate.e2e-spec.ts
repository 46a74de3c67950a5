import { spawnSync } from 'node:child_process';
import { cp, glob, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { testDirectory } from '../support/test-database.js';

/** That of the service may have any feature already. */
const APP_MODULE = `import { Module } from '@nestjs/common';
import { ItemsModule } from './items/items.module.js';
import { PlatformModule } from './platform/platform.module.js';

@Module({
  imports: [PlatformModule, ItemsModule],
})
export class AppModule {}
`;

/** The files that the commands read; `test/guide` checks the rest in a copy of the whole project. */
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(testDirectory(), 'project-'));
  await symlink(resolve('node_modules'), join(project, 'node_modules'));
  for (const path of ['src/items', 'src/platform', 'nest-cli.json', '.prettierrc.json']) {
    await cp(path, join(project, path), { recursive: true });
  }
  await writeFile(join(project, 'src/app.module.ts'), APP_MODULE);
  // A migration of the future must not be overtaken.
  await writeFile(join(project, 'src/items/migrations/4102444800000-later.ts'), '');
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> };
  const { generate: command, postgenerate } = scripts;
  const openapi = 'node -p "Date.now()" > openapi.json';
  await writeFile(join(project, 'package.json'), JSON.stringify({ scripts: { generate: command, postgenerate, openapi } }));
});

function run(command: string, ...args: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: project, encoding: 'utf8' });
  return { code: status, output: stdout + stderr };
}

/** Without npm, which takes longer than the rest. */
const schematic = (...args: string[]) =>
  run(process.execPath, 'node_modules/.bin/schematics', '@items/schematics:feature', ...args);

async function snapshot(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const path of glob('**/*.*', { cwd: project, exclude: ['node_modules'] })) {
    files.set(path, await readFile(join(project, path), 'utf8'));
  }
  return files;
}

const changed = (before: Map<string, string>, after: Map<string, string>) =>
  [...after].filter(([path, content]) => before.get(path) !== content).map(([path]) => path.replace(/\d{13}/, '<now>'));

const filesOf = (plural: string, singular: string) => [
  'src/app.module.ts',
  `src/${plural}/${singular}.entity.ts`,
  `src/${plural}/migrations/<now>-create-${plural}.ts`,
  `src/${plural}/${plural}.controller.ts`,
  `src/${plural}/${plural}.dto.ts`,
  `src/${plural}/${plural}.module.ts`,
  `src/${plural}/${plural}.service.ts`,
  `test/${plural}.e2e-spec.ts`,
];

it('writes nothing on a dry run', async () => {
  const before = await snapshot();
  const { code, output } = schematic('widgets', '--dry-run');
  expect([code, output]).toEqual([0, expect.stringContaining('CREATE src/widgets/widgets.module.ts')]);
  expect(await snapshot()).toEqual(before);
});

it('writes formatted and registered features, with the latest migration and openapi.json', async () => {
  const before = await snapshot();
  const { code, output } = run('npm', 'run', '--silent', 'generate', '--', 'order-lines');
  expect([code, output]).toEqual([0, expect.stringContaining('Singular: order-line.')]);
  const files = await snapshot();
  expect(changed(before, files).toSorted()).toEqual(['openapi.json', ...filesOf('order-lines', 'order-line')].toSorted());
  expect(files.has('src/order-lines/migrations/4102444800001-create-order-lines.ts')).toBe(true);

  const longName = 'very-long-names-of-things-that-break-li';
  expect(schematic('people', '--singular', longName, '--with', 'delete,get')).toMatchObject({ code: 0 });
  const all = await snapshot();
  expect(changed(files, all).toSorted()).toEqual(filesOf('people', longName).toSorted());
  const last = "import { PlatformModule } from './platform/platform.module.js';";
  const imports = [
    "import { OrderLinesModule } from './order-lines/order-lines.module.js';",
    "import { PeopleModule } from './people/people.module.js';",
  ];
  const registered = APP_MODULE.replace(last, [last, ...imports].join('\n'));
  expect(all.get('src/app.module.ts')).toBe(registered.replace('ItemsModule]', 'ItemsModule, OrderLinesModule, PeopleModule]'));
  const handlers = ['order-lines', 'people'].map((plural) =>
    [...(all.get(`src/${plural}/${plural}.controller.ts`) ?? '').matchAll(/async ([a-z]+)/g)].map(([, name]) => name),
  );
  expect(handlers).toEqual([
    ['list', 'create'],
    ['list', 'create', 'get', 'delete'],
  ]);
  const written = ['src/app.module.ts', 'src/order-lines', 'src/people', 'test'];
  expect(run(process.execPath, 'node_modules/.bin/prettier', '--check', ...written)).toMatchObject({ code: 0 });
});

it.each([
  ['items', [], 'src/items/items.module.ts exists already: choose another name, or remove it first.'],
  ['pages', [], '"page" is reserved. Choose another name, such as service-pages.'],
  ['widgets', ['--with', 'get,put'], 'Data path "/with" must match pattern "^(get|update|delete)(,(get|update|delete))*$"'],
  ['widgets', ['--singluar', 'widget'], 'Unknown option "singluar"'],
])('rejects an invalid feature, and leaves nothing behind: %s %j', async (name, options, message) => {
  const before = await snapshot();
  const { code, output } = schematic(name, ...options);
  expect([code, output]).toEqual([1, expect.stringContaining(message)]);
  expect(await snapshot()).toEqual(before);
});
