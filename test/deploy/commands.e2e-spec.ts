import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { production } from '../support/manifests.js';
import { testDirectory } from '../support/test-database.js';

// The kubectl commands of the documents, with a server that is down: kubectl reads all arguments and files first.

const texts = globSync(['docs/*.md', 'deploy/*/README.md', '*.md']).map((path) => readFileSync(path, 'utf8'));
const commands = texts
  .flatMap((text) =>
    Array.from(text.replaceAll(/\\\n\s*/g, ' ').matchAll(/\bkubectl (?:"[^"\n]*"|'[^'\n]*'|[^`\n#|;&)"'])+/g)),
  )
  .map(([command]) => command.trim().replaceAll(/<pod>|\$job|<\w+>/g, 'a-name'))
  // More than the name of a command.
  .filter((command) => command.split(' ').length > 2);

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(testDirectory(), 'commands-'));
  symlinkSync(resolve('deploy'), join(directory, 'deploy'));
  copyFileSync('deploy/kubernetes/overlays/production/secret.example.yaml', join(directory, 'my-secret.yaml'));
  for (const file of ['tokens', 'ca.crt']) writeFileSync(join(directory, file), '');
});

function run(command: string): string {
  const { TEST_KUBECTL: kubectl = 'kubectl' } = process.env;
  const shell = command.replace(/^kubectl/, '"$0" --server=http://127.0.0.1:1');
  const input = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: any }\n';
  return spawnSync('sh', ['-uc', shell, kubectl], { cwd: directory, encoding: 'utf8', input }).stderr;
}

it.each([...new Set(commands)])('kubectl accepts: %s', (command) => {
  expect(run(command)).toMatch(/connection refused|was refused/);
});

it('the check finds unknown flags and commands', () => {
  expect(commands.length).toBeGreaterThan(20);
  for (const command of [
    'kubectl logs a-name --tal=-1',
    'kubectl log a-name --tail=-1',
    'kubectl get pods --all-namespace',
  ]) {
    expect(run(command)).not.toMatch(/connection refused|was refused/);
  }
});

it('what commands name is in the manifests', () => {
  const text = commands.join('\n');
  const named = [...text.matchAll(/\b(deploy|deployment|cronjob)\/([a-z-]+)(?![\w/-])/g)].map(
    ([, kind = '', name = '']) => `${kind}/${name}`,
  );
  const known = production.all.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
  expect(named.length).toBeGreaterThan(2);
  expect(known).toEqual(expect.arrayContaining(named.map((name) => name.replace('deploy/', 'deployment/'))));
  const components = [...text.matchAll(/app\.kubernetes\.io\/component=([a-z]+)/g)].map(([, name]) => name);
  const labels = [...production.podTemplates.values()].map(
    ({ metadata }) => metadata?.labels?.['app.kubernetes.io/component'],
  );
  expect(components.length).toBeGreaterThan(1);
  expect(labels).toEqual(expect.arrayContaining(components));
});
