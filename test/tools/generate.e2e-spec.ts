import { spawnSync } from 'node:child_process';
import { cp, glob, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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

/** What of the project the commands read; the rest of it is checked by `test/guide`, in a copy of everything. */
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
  const openapi = 'node -p "Date.now()" > openapi.json';
  await writeFile(join(project, 'package.json'), JSON.stringify({ scripts: { generate: scripts['generate'], openapi } }));
});

function run(command: string, ...args: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: project, encoding: 'utf8' });
  return { code: status, output: stdout + stderr };
}

const generate = (...args: string[]) => run('npm', 'run', '--silent', 'generate', '--', ...args);

/** The same without npm, which takes longer than the rest. */
const schematic = (...args: string[]) =>
  run(process.execPath, 'node_modules/.bin/schematics', '@items/schematics:feature', ...args);

/** The same through Nest's own command, as far as that passes options on. */
const nestGenerate = (...args: string[]) =>
  run('npx', 'nest', 'generate', '--collection', '@items/schematics', 'feature', ...args);

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
  'openapi.json',
  'src/app.module.ts',
  `src/${plural}/${singular}.entity.ts`,
  `src/${plural}/migrations/<now>-create-${plural}.ts`,
  `src/${plural}/${plural}.controller.ts`,
  `src/${plural}/${plural}.dto.ts`,
  `src/${plural}/${plural}.module.ts`,
  `test/${plural}.e2e-spec.ts`,
];

describe('a feature', () => {
  it('is not written on a dry run', async () => {
    const before = await snapshot();
    const { code, output } = schematic('widgets', '--dry-run');
    expect([code, output]).toEqual([0, expect.stringContaining('CREATE src/widgets/widgets.module.ts')]);
    expect(await snapshot()).toEqual(before);
  });

  const longName = 'very-long-names-of-things-that-break-li';

  it.each([
    ['npm run generate', generate, ['order-lines'], 'order-lines', 'order-line'],
    ['schematics', schematic, ['people', '--singular', longName], 'people', longName],
    ['nest generate', nestGenerate, ['Batteries'], 'batteries', 'battery'],
  ])('is written by %s after those before it, with openapi.json', async (_command, write, args, plural, singular) => {
    const before = await snapshot();
    const { code, output } = write(...args);
    expect([code, output]).toEqual([0, expect.stringContaining(`One of the ${plural} is called ${singular}.`)]);
    expect(changed(before, await snapshot()).toSorted()).toEqual(filesOf(plural, singular).toSorted());
  });

  it('is formatted, has the last migration of all, and is registered', async () => {
    const files = await snapshot();
    expect(files.has('src/order-lines/migrations/4102444800001-create-order-lines.ts')).toBe(true);
    const last = "import { PlatformModule } from './platform/platform.module.js';";
    const modules = ['OrderLines', 'People', 'Batteries'];
    const imports = ['order-lines', 'people', 'batteries'].map(
      (name, index) => `\nimport { ${modules[index]}Module } from './${name}/${name}.module.js';`,
    );
    const names = ['Items', ...modules].map((name) => `${name}Module`).join(', ');
    const registered = APP_MODULE.replace(last, last + imports.join('')).replace('ItemsModule]', `${names}]`);
    expect(files.get('src/app.module.ts')).toBe(registered);
    const written = ['src/app.module.ts', 'src/order-lines', 'src/people', 'src/batteries', 'test'];
    expect(run(process.execPath, 'node_modules/.bin/prettier', '--check', ...written)).toMatchObject({ code: 0 });
  });
});

describe('a feature that cannot be', () => {
  it.each([
    ['items', [], 'src/items exists already: choose another name, or remove it first.'],
    ['access-tokens', [], 'A table access_tokens exists already, made by src/platform/auth/migrations/'],
    ['pages', [], 'would have two classes Page: choose another name, such as service-pages.'],
    ['widgets', ['--singluar', 'widget'], 'Unknown option "singluar"'],
  ])('is refused and leaves nothing behind: %s %j', async (name, options, message) => {
    const before = await snapshot();
    const { code, output } = schematic(name, ...options);
    expect([code, output]).toEqual([1, expect.stringContaining(message)]);
    expect(await snapshot()).toEqual(before);
  });

  it('is refused where the application is not as expected', async () => {
    const file = join(project, 'src/app.module.ts');
    const source = await readFile(file, 'utf8');
    await writeFile(file, source.replace('imports:', 'exports:'));
    const before = await snapshot();
    const { code, output } = schematic('widgets');
    expect([code, output]).toEqual([1, expect.stringContaining('src/app.module.ts is not as expected')]);
    expect(await snapshot()).toEqual(before);
    await rm(file);
    expect(schematic('widgets').output).toContain("run it in the directory of the project's package.json");
    await writeFile(file, source);
  });
});
