import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { testDirectory } from '../support/test-database.js';

// The linter's own rules about modules, on modules that break them.

/** Features on a platform, with nothing wrong. */
const RIGHT = {
  'src/platform/secret.ts': 'export const secret = 1;\n',
  'src/platform/index.ts': "export { secret } from './secret.js';\n",
  'src/apples/apple.ts': "import { secret } from '../platform/index.js';\nexport const apple = secret;\n",
  'src/pears/pear.ts': "import { secret } from '../platform/index.js';\nexport const pear = secret;\n",
  'src/figs/fig.ts':
    "import { NotFoundException } from '@nestjs/common';\nexport function fig(): never {\n  throw new NotFoundException();\n}\n",
  'src/main.ts': "import './apples/apple.js';\nimport './pears/pear.js';\nimport './figs/fig.js';\n",
};

/** Each breaks one rule. */
const WRONG = {
  'src/plums/plum.ts': "import { apple } from '../apples/apple.js';\nexport const plum = apple;\n",
  'src/cherries/cherry.ts': "import { secret } from '../platform/secret.js';\nexport const cherry = secret;\n",
  'src/platform/nosy.ts': "import { apple } from '../apples/apple.js';\nexport const nosy: unknown = apple;\n",
  'src/main.ts': ['plums/plum', 'cherries/cherry', 'platform/nosy'].map((path) => `import './${path}.js';\n`).join(''),
};

async function lint(files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(testDirectory(), 'conventions-'));
  for (const name of ['.dependency-cruiser.js', '.oxlintrc.json', 'tsconfig.json', 'package.json']) {
    await copyFile(name, join(directory, name));
  }
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  for (const [path, text] of Object.entries({ ...RIGHT, ...files })) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  const check = (command: string, ...args: string[]) => {
    const { status, stdout } = spawnSync(resolve('node_modules/.bin', command), args, { cwd: directory, encoding: 'utf8' });
    return status === 0 ? '' : stdout;
  };
  return check('depcruise', '--output-type', 'err-long', 'src') + check('oxlint', '--deny-warnings', 'src');
}

it("accept features that import the platform's index and Nest's exceptions", async () => {
  expect(await lint({})).toBe('');
});

it('reject violations, with the fix', async () => {
  const output = await lint(WRONG);
  for (const message of [
    'features-stand-alone: src/plums/plum.ts → src/apples/apple.ts',
    'What both need belongs to the',
    'features-use-the-door: src/cherries/cherry.ts → src/platform/secret.ts',
    'Export it there',
    'platform-knows-no-feature: src/platform/nosy.ts → src/apples/apple.ts',
    'the platform names none',
  ]) {
    expect(output).toContain(message);
  }
});
