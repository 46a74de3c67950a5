import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { testDirectory } from '../support/test-database.js';

interface List {
  metadata: { component: { name: string } };
  components: { 'bom-ref': string; licenses?: object; hashes?: object }[];
}

const sbom = (cwd: string) =>
  spawnSync(process.execPath, [resolve('tools/supply-chain/sbom.ts')], { cwd, encoding: 'utf8' });

const listIn = (cwd: string) => JSON.parse(readFileSync(join(cwd, 'reports/sbom.cdx.json'), 'utf8')) as List;

it('lists the packages of production, with the license and hash of each', () => {
  expect(sbom('.').status).toBe(0);
  const { components } = listIn('.');
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: object };
  const listed = components.map((component) => component['bom-ref']);
  expect(listed).toEqual(expect.arrayContaining(Object.entries(dependencies).map((pair) => pair.join('@'))));
  expect(listed.filter((reference) => /^(typescript|jest|node-linux.*|spdx-satisfies)@/.test(reference))).toEqual([]);
  expect(components.filter(({ licenses, hashes }) => !licenses || !hashes)).toEqual([]);
});

it('rejects packages with a license that is unknown, or not allowed where they are used [licenses-checked]', () => {
  const directory = mkdtempSync(join(testDirectory(), 'project-'));
  const write = (path: string, content: object) => writeFileSync(join(directory, path), JSON.stringify(content));
  const packages: Record<string, { version: string; dev?: true }> = {};
  const plant = (name: string, license: string | undefined, use: { dev?: true } = {}) => {
    packages[`node_modules/${name}`] = { version: '1.0.0', ...use };
    mkdirSync(join(directory, 'node_modules', name), { recursive: true });
    write(`node_modules/${name}/package.json`, { name, version: '1.0.0', license });
  };
  plant('either', '(GPL-3.0-only OR MIT)');
  plant('both', 'MIT AND AGPL-3.0-or-later');
  plant('data', 'CC-BY-4.0');
  plant('test-data', 'CC-BY-4.0', { dev: true });
  plant('test-server', 'SSPL-1.0', { dev: true });
  plant('elsewhere', 'SEE LICENSE IN LICENSE.txt');
  plant('silent', undefined);
  const dependencies = Object.fromEntries(
    Object.keys(packages).map((path) => [path.slice('node_modules/'.length), '1.0.0']),
  );
  write('package.json', { name: 'project', version: '1.0.0', dependencies });
  write('package-lock.json', {
    name: 'project',
    lockfileVersion: 3,
    packages: { '': { version: '1.0.0', dependencies }, ...packages },
  });
  const { status, stdout } = sbom(directory);
  const refused = stdout.split('\n').filter((line) => line.includes('@1.0.0'));
  expect([status, ...refused.toSorted()]).toEqual([
    1,
    'both@1.0.0: MIT AND AGPL-3.0-or-later is not allowed in production.',
    'data@1.0.0: CC-BY-4.0 is not allowed in production.',
    'elsewhere@1.0.0: no known license is not allowed in production.',
    'silent@1.0.0: no known license is not allowed in production.',
    'test-server@1.0.0: SSPL-1.0 is not allowed in development.',
  ]);
  // Not that of the directory.
  expect(listIn(directory).metadata.component.name).toBe('project');
});
