import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { alertsIn, faultOf, formsOf, inCaseOf } from './forms.ts';

// Gives the service another name, and leaves its features as they are: npm run rename -- orders

const NAMED_IN = 'src/platform/service/service.ts';
const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 });

/** The tracked files that are text, except migrations, of which the names in a database are. */
function texts(): { path: string; text: string }[] {
  return git('ls-files', '-z')
    .split('\0')
    .filter((path) => path !== '' && !path.includes('/migrations/') && lstatSync(path).isFile())
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
    .filter(({ text }) => !text.includes('\0'));
}

/** @throws Error that says why it cannot be done, and the fix */
function rename(to: string, from: string, isMerged: boolean): string {
  const fault = faultOf(to) ?? faultOf(from) ?? (to === from ? `The service has the name ${to} already.` : undefined);
  if (fault !== undefined) throw new Error(fault);
  if (git('status', '--porcelain') !== '') {
    throw new Error('The work tree has changes: commit or stash them, so that `git diff` shows the rename alone.');
  }
  const files = texts();
  const alerts = files.flatMap(({ path, text }) => (path.endsWith('.rules.yaml') ? alertsIn(text) : []));
  const taken = isMerged ? undefined : files.find(({ text }) => formsOf(to, alerts).test(text));
  if (taken) {
    const [form] = formsOf(to, alerts).exec(taken.text) ?? [];
    throw new Error(`${taken.path} has ${form} where it would be the name of the service: choose another name.`);
  }
  let places = 0;
  const replace = (text: string) =>
    text.replaceAll(formsOf(from, alerts), (found) => {
      places += 1;
      return inCaseOf(found, to);
    });
  const changed = files.flatMap(({ path, text }) => {
    const [newPath, newText] = [replace(path), replace(text)];
    if (newPath !== path) git('mv', path, newPath);
    if (newText !== text) writeFileSync(newPath, newText);
    return newPath === path && newText === text ? [] : [newPath];
  });
  // Names of another length: lines break elsewhere.
  execFileSync('node_modules/.bin/prettier', ['--write', '--log-level', 'warn', '--ignore-unknown', ...changed]);
  return `The service is ${to} instead of ${from} now, at ${places} places of ${changed.length} files: see \`git diff HEAD\`.

Clients need tokens of the new form, and Prometheus, Redis, the database and Kubernetes what the new names name. Next:

  npm install && npm test          # also rebuilds what the name is in
  git commit -am 'Rename the service to ${to}'

src/items is the example of a feature, and has kept its name: docs/start-your-own.md says how to remove it.
`;
}

try {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { from: { type: 'string' } } });
  const [, current = ''] = /SERVICE_NAME = '(\w+)'/.exec(readFileSync(NAMED_IN, 'utf8')) ?? [];
  process.stdout.write(rename(positionals.join(' '), values.from ?? current, values.from !== undefined));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
