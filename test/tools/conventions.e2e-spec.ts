import { spawnSync } from 'node:child_process';
import { chown, copyFile, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { testDirectory } from '../support/test-database.js';

/** Features on a platform: `pears` and `figs` break nothing, each of the others one rule. */
const FILES = {
  'src/main.ts': [
    'pears/pear',
    'figs/fig',
    'plums/plum',
    'cherries/cherry',
    'platform/nosy',
    'platform/auth/low',
    'platform/lost/lost',
  ]
    .map((path) => `import './${path}.js';\n`)
    .join(''),
  'src/platform/secret.ts': 'export const secret = 1;\n',
  'src/platform/index.ts': "export { secret } from './secret.js';\n",
  'src/pears/pear.ts': "import { secret } from '../platform/index.js';\nexport const pear = secret;\n",
  'src/pears/pears.service.ts': "export { pear } from './pear.js';\n",
  'src/figs/fig.ts': "import { pear } from '../pears/pears.service.js';\nexport const fig = pear;\n",
  'src/plums/plum.ts': "import { pear } from '../pears/pear.js';\nexport const plum = pear;\n",
  'src/cherries/cherry.ts': "import { secret } from '../platform/secret.js';\nexport const cherry = secret;\n",
  'src/platform/auth/low.ts': "import { high } from '../lists/high.js';\nexport const low = high;\n",
  'src/platform/lists/high.ts': "import { ground } from '../time/ground.js';\nexport const high = ground;\n",
  'src/platform/time/ground.ts': 'export const ground = 1;\n',
  'src/platform/lost/lost.ts': "import { ground } from '../time/ground.js';\nexport const lost = ground;\n",
  'src/platform/nosy.ts': "import { pear } from '../pears/pear.js';\nexport const nosy: unknown = pear;\n",
};

it('the linter rejects imports against the arrows, with the fix, and no others [lint-arrows]', async () => {
  const directory = await mkdtemp(join(testDirectory(), 'conventions-'));
  for (const name of ['.dependency-cruiser.js', 'tsconfig.json', 'package.json'])
    await copyFile(name, join(directory, name));
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  const args = ['--output-type', 'err-long', 'src'];
  const { stdout } = spawnSync(resolve('node_modules/.bin/depcruise'), args, { cwd: directory, encoding: 'utf8' });
  const violations = [...stdout.matchAll(/([a-z-]+): (src\S+) → (src\S+)\s+([^]*?)\n\n/g)].map(([, ...parts]) => parts);
  expect(violations.toSorted()).toEqual([
    [
      'features-stand-alone',
      'src/plums/plum.ts',
      'src/pears/pear.ts',
      expect.stringContaining('import only its module and the service that this'),
    ],
    [
      'features-use-the-index',
      'src/cherries/cherry.ts',
      'src/platform/secret.ts',
      expect.stringContaining('Features import only src/platform/index.ts'),
    ],
    [
      'folders-have-a-layer',
      'src/platform/lost/lost.ts',
      'src/platform/time/ground.ts',
      expect.stringContaining('Add the folder to LAYERS'),
    ],
    ['layers', 'src/platform/auth/low.ts', 'src/platform/lists/high.ts', expect.stringContaining('only from lower layers')],
    [
      'platform-knows-no-feature',
      'src/platform/nosy.ts',
      'src/pears/pear.ts',
      expect.stringContaining('does not import features'),
    ],
  ]);
});

it('docs/architecture.md lists the folders of the platform by layer, from the top', async () => {
  const { LAYERS } = (await import(resolve('.dependency-cruiser.js'))) as { LAYERS: readonly (readonly string[])[] };
  const rows = (await readFile('docs/architecture.md', 'utf8')).matchAll(/^\| +(\d+) \| `([a-z]+)` /gm);
  const listed = [...rows].map(([, layer, folder]) => `${layer} ${folder}`);
  const layers = LAYERS.map((folders, index) => folders.map((folder) => `${index + 1} ${folder}`));
  expect(listed).toEqual(layers.toReversed().flat());
});

it('docs/adr/README.md lists each decision with its title, date and status', async () => {
  const files = (await readdir('docs/adr')).filter((name) => /^\d{4}-/.test(name));
  const decisions = files.map(async (name) => {
    const text = await readFile(`docs/adr/${name}`, 'utf8');
    const [, number = '', title = '', date = ''] = /^# (\d+)\. (.*)\n\nAccepted on (\d{4}-\d\d-\d\d)\.\n/.exec(text) ?? [];
    return [number, `[${title}](${name})`, date, 'Accepted'];
  });
  const rows = [...(await readFile('docs/adr/README.md', 'utf8')).matchAll(/^\| +(\d+) \| (.*?) +\| (\S+) \| (.*?) +\|$/gm)];
  const listed = rows.map(([, ...cells]) => cells);
  expect(listed.map(([number]) => Number(number))).toEqual(listed.map((_row, index) => index + 1));
  expect(listed.filter(([, title]) => title?.startsWith('['))).toEqual(await Promise.all(decisions));
});

it('no line of the source is longer than 125 characters: break comments, SQL and texts by hand, which the formatter does not', async () => {
  const paths = (await readdir('src', { recursive: true })).filter((path) => /(?<!\.spec)\.ts$/.test(path));
  const lines = paths.map(async (path) =>
    (await readFile(join('src', path), 'utf8')).split('\n').map((line) => ({ path, line })),
  );
  expect(paths.length).toBeGreaterThan(100);
  expect((await Promise.all(lines)).flat().filter(({ line }) => line.length > 125)).toEqual([]);
});

it('the workflow of GitHub may mount, and use git where the files belong to another user, as in its containers', async () => {
  const { container, steps } = (
    parse(await readFile('.github/workflows/ci.yaml', 'utf8')) as {
      jobs: { run: { container: { options: string }; steps: { run?: string }[] } };
    }
  ).jobs.run;
  expect(container.options).toBe('--privileged');
  const cwd = await mkdtemp(join(testDirectory(), 'workspace-'));
  const run = (command: string) =>
    spawnSync('bash', ['-ec', command], { cwd, encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: `${cwd}/home` } });
  run('mkdir home && git init -q');
  // Only root may give it away. Others find that git works.
  if (process.getuid?.() === 0) await chown(cwd, 1001, 1001);
  const commands = steps.flatMap(({ run: command }) => command ?? []);
  expect(commands.pop()).toBe('bash .ci/run');
  const statuses = [...commands, 'git ls-files'].map((command) => run(command).status);
  expect(statuses).toEqual(statuses.map(() => 0));
});
