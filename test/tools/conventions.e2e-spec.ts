import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { testDirectory } from '../support/test-database.js';

/** Features on a platform: `pears` and `figs` break nothing, each of the others one rule. */
const FILES = {
  'src/main.ts': ['pears/pear', 'figs/fig', 'plums/plum', 'cherries/cherry', 'platform/nosy']
    .map((path) => `import './${path}.js';\n`)
    .join(''),
  'src/platform/secret.ts': 'export const secret = 1;\n',
  'src/platform/index.ts': "export { secret } from './secret.js';\n",
  'src/pears/pear.ts': "import { secret } from '../platform/index.js';\nexport const pear = secret;\n",
  'src/pears/pears.service.ts': "export { pear } from './pear.js';\n",
  'src/figs/fig.ts': "import { pear } from '../pears/pears.service.js';\nexport const fig = pear;\n",
  'src/plums/plum.ts': "import { pear } from '../pears/pear.js';\nexport const plum = pear;\n",
  'src/cherries/cherry.ts': "import { secret } from '../platform/secret.js';\nexport const cherry = secret;\n",
  'src/platform/nosy.ts': "import { pear } from '../pears/pear.js';\nexport const nosy: unknown = pear;\n",
};

it('the linter rejects imports against the arrows, with the fix, and no others [lint-arrows]', async () => {
  const directory = await mkdtemp(join(testDirectory(), 'conventions-'));
  for (const name of ['.dependency-cruiser.js', 'tsconfig.json', 'package.json']) await copyFile(name, join(directory, name));
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  const args = ['--output-type', 'err-long', 'src'];
  const { stdout } = spawnSync(resolve('node_modules/.bin/depcruise'), args, { cwd: directory, encoding: 'utf8' });
  const violations = [...stdout.matchAll(/([a-z-]+): (src\S+) → (src\S+)\s+([^]*?)\n\n/g)].map(([, ...parts]) => parts);
  expect(violations.toSorted()).toEqual([
    ['features-stand-alone', 'src/plums/plum.ts', 'src/pears/pear.ts', expect.stringContaining('the service that it exports')],
    ['features-use-the-door', 'src/cherries/cherry.ts', 'src/platform/secret.ts', expect.stringContaining('Export it there')],
    [
      'platform-knows-no-feature',
      'src/platform/nosy.ts',
      'src/pears/pear.ts',
      expect.stringContaining('the platform names none'),
    ],
  ]);
});
