import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { asObject, type JsonObject } from '../../api/json.ts';
import { lockedPackages } from '../../supply-chain/locked-packages.ts';
import { isAllowed } from '../../supply-chain/spdx-expression.ts';
import { testDirectory } from '../support/test-database.js';

/** A package, what its package.json says of its licence, and whether it runs in production. */
interface Planted {
  name: string;
  manifest: object;
  dev?: boolean;
}

/** A project with these packages installed, the same for package.json, package-lock.json and node_modules. */
async function projectWith(packages: readonly Planted[]): Promise<string> {
  const directory = await mkdtemp(join(testDirectory(), 'project-'));
  const write = async (path: string, content: object) => {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), JSON.stringify(content));
  };
  const dependencies = Object.fromEntries(packages.filter(({ dev }) => !dev).map(({ name }) => [name, '1.0.0']));
  const devDependencies = Object.fromEntries(packages.filter(({ dev }) => dev).map(({ name }) => [name, '1.0.0']));
  const project = { name: 'planted', version: '2.3.4', dependencies, devDependencies };
  const integrity = `sha512-${Buffer.alloc(64, 1).toString('base64')}`;
  const locked = packages.map(
    ({ name, dev }) => [`node_modules/${name}`, { version: '1.0.0', integrity, ...(dev && { dev }) }] as const,
  );
  await write('package.json', project);
  await write('package-lock.json', {
    name: 'planted',
    version: '2.3.4',
    lockfileVersion: 3,
    packages: { '': project, ...Object.fromEntries(locked) },
  });
  for (const { name, manifest } of packages)
    await write(`node_modules/${name}/package.json`, { name, version: '1.0.0', ...manifest });
  return directory;
}

function runIn(cwd: string): Promise<{ code: number; lines: string[] }> {
  return new Promise((done) => {
    execFile(process.execPath, [resolve('supply-chain/sbom.ts')], { cwd }, (error, stdout) => {
      done({ code: error ? Number(error.code) : 0, lines: stdout.trim().split('\n') });
    });
  });
}

it('writes what runs in production, with the licence and the hash of each package', async () => {
  expect(await runIn(process.cwd())).toMatchObject({ code: 0 });
  const { metadata, components, dependencies } = JSON.parse(await readFile('reports/sbom.cdx.json', 'utf8')) as {
    metadata: { component: { name: string; version: string; type: string } };
    components: { 'bom-ref': string; licenses: object[]; hashes: object[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  const project = asObject(JSON.parse(readFileSync('package.json', 'utf8')));
  expect(metadata.component).toMatchObject({ name: project['name'], version: project['version'], type: 'application' });
  const references = components.map((component) => component['bom-ref']);
  // What production and development both need is what npm leaves out.
  expect(references).toEqual(
    expect.arrayContaining(Object.entries(project['dependencies'] as object).map((pair) => pair.join('@'))),
  );
  expect(references.filter((reference) => /^(typescript|jest|node-linux.*|fast-check)@/.test(reference))).toEqual([]);
  expect(components.filter(({ licenses, hashes }) => licenses.length === 0 || hashes.length === 0)).toEqual([]);
  const known = new Set([...references, ...dependencies.map(({ ref }) => ref)]);
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((reference) => !known.has(reference))).toEqual([]);
});

it('refuses what has no licence, an unknown one, or one that is not allowed where it is used', async () => {
  const directory = await projectWith([
    { name: 'fine', manifest: { license: '(GPL-3.0-only OR MIT)' } },
    { name: 'copyleft', manifest: { license: 'GPL-3.0-only' } },
    { name: 'both', manifest: { license: 'MIT AND AGPL-3.0-or-later' } },
    { name: 'silent', manifest: {} },
    { name: 'elsewhere', manifest: { license: 'SEE LICENSE IN LICENSE.txt' } },
    { name: 'nobody', manifest: { license: 'UNLICENSED' } },
    { name: 'data', manifest: { license: 'CC-BY-4.0' } },
    { name: 'tool', manifest: { license: 'CC-BY-4.0' }, dev: true },
    { name: 'server', manifest: { license: 'SSPL-1.0' }, dev: true },
  ]);
  const { code, lines } = await runIn(directory);
  const advice = 'use another package, or have it allowed in supply-chain/licences.ts.';
  const unknown = (name: string) =>
    `${name}@1.0.0 tells no licence that SPDX knows: read what it comes with, and add it to supply-chain/known-licences.ts.`;
  expect(code).toBe(1);
  expect(lines.slice(lines.indexOf('') + 1).toSorted()).toEqual(
    [
      `copyleft@1.0.0 is under GPL-3.0-only, which packages in production may not have: ${advice}`,
      `both@1.0.0 is under MIT AND AGPL-3.0-or-later, which packages in production may not have: ${advice}`,
      unknown('silent'),
      unknown('elsewhere'),
      unknown('nobody'),
      `data@1.0.0 is under CC-BY-4.0, which packages in production may not have: ${advice}`,
      `server@1.0.0 is under SSPL-1.0, which packages for development may not have: ${advice}`,
    ].toSorted(),
  );
});

it('counts to production what the image installs', () => {
  const entry = { version: '1.0.0' };
  const lock: JsonObject = {
    packages: {
      '': entry,
      'node_modules/a': entry,
      'node_modules/a/node_modules/@b/c': entry,
      'node_modules/d': { ...entry, dev: true },
      'node_modules/e': { ...entry, devOptional: true },
      'node_modules/f': { ...entry, optional: true },
      'node_modules/g': { ...entry, peer: true },
      'node_modules/alias': { ...entry, name: 'h' },
      'node_modules/ours': { resolved: 'ours', link: true },
      ours: entry,
    },
  };
  const { production, development } = lockedPackages(lock);
  expect([...production]).toEqual(['a@1.0.0', '@b/c@1.0.0', 'g@1.0.0', 'h@1.0.0']);
  expect([...development]).toEqual(['d@1.0.0', 'e@1.0.0', 'f@1.0.0']);
});

it.each([
  ['MIT', true],
  ['GPL-2.0-only', false],
  ['(MIT)', true],
  ['MIT OR GPL-2.0-only', true],
  ['GPL-2.0-only OR MIT', true],
  ['MIT AND GPL-2.0-only', false],
  ['GPL-2.0-only AND MIT', false],
  ['MIT AND ISC', true],
  ['GPL-2.0-only OR MIT AND ISC', true],
  ['MIT OR ISC AND GPL-2.0-only', true],
  ['(MIT OR ISC) AND GPL-2.0-only', false],
  ['((GPL-2.0-only AND MIT) OR (ISC AND MIT))', true],
  ['ISC WITH Some-exception', true],
  ['MIT WITH Some-exception', false],
  ['MIT+', false],
  ['', false],
  ['MIT ISC', false],
  ['MIT OR', false],
  ['OR MIT', false],
  ['(MIT', false],
  ['MIT)', false],
  ['MIT,ISC', false],
  ['MIT WITH', false],
  ['mit', false],
])('%s leaves a choice that is allowed: %s', (expression, expected) => {
  expect(isAllowed(expression, new Set(['MIT', 'ISC', 'ISC WITH Some-exception']))).toBe(expected);
});
