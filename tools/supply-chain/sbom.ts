import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import satisfies from 'spdx-satisfies';

// Writes the packages of the image to reports/sbom.cdx.json and checks the licenses of all packages: npm run sbom

/** Licenses that ask for no more than their notice. */
const PRODUCTION = '0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause ISC MIT PostgreSQL Python-2.0'.split(' ');
/** Packages that are not distributed may also be public domain, data that names its source, or open in each changed file. */
const DEVELOPMENT = [...PRODUCTION, 'CC-BY-3.0', 'CC-BY-4.0', 'CC0-1.0', 'MPL-2.0', 'Unlicense'];
/** Licenses that package.json does not state: that of `pause` is in its Readme.md. */
const STATED_ELSEWHERE: Readonly<Record<string, string>> = { 'pause@0.0.1': 'MIT' };

interface Sbom {
  metadata: { component: { name: string } };
  components: { 'bom-ref': string; licenses?: { license?: { id?: string; name?: string }; expression?: string }[] }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}
interface Lock {
  name: string;
  packages: Record<string, { name?: string; version: string; dev?: true; devOptional?: true; optional?: true; link?: true }>;
}

const { name: project, packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
const command = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
const sbom = JSON.parse(execFileSync('npm', command, { encoding: 'utf8', maxBuffer: 2 ** 28 })) as Sbom;

/** `npm sbom --omit dev` leaves out what development needs as well: https://github.com/npm/cli/issues/7909. */
const production = new Set(
  Object.entries(packages)
    .filter(([, { dev, devOptional, optional }]) => !(dev ?? devOptional ?? optional))
    .map(([path, { name = path.split('node_modules/').at(-1), version }]) => `${name}@${version}`),
);

function isAllowed(stated: string, allowed: readonly string[]): boolean {
  try {
    return satisfies(stated, allowed);
  } catch {
    return false;
  }
}

const faults: string[] = [];
for (const component of sbom.components) {
  const reference = component['bom-ref'];
  if (packages[`node_modules/${reference.replace(/@[^@]+$/, '')}`]?.link) continue; // It is of this project.
  const [use, allowed] = production.has(reference) ? ['production', PRODUCTION] : ['development', DEVELOPMENT];
  component.licenses ??= [{ expression: STATED_ELSEWHERE[reference] ?? 'no known license' }];
  const stated = component.licenses
    .map(({ license, expression }) => expression ?? license?.id ?? license?.name)
    .join(' AND ');
  if (!isAllowed(stated, allowed)) faults.push(`${reference}: ${stated} is not allowed in ${use}.`);
}

// npm takes the name of the directory.
sbom.metadata.component.name = project;
sbom.components = sbom.components.filter((component) => production.has(component['bom-ref']));
sbom.dependencies = sbom.dependencies.filter(({ ref }) => production.has(ref));
for (const dependency of sbom.dependencies) dependency.dependsOn = dependency.dependsOn.filter((ref) => production.has(ref));
mkdirSync('reports', { recursive: true });
writeFileSync('reports/sbom.cdx.json', `${JSON.stringify(sbom, null, 2)}\n`);
process.stdout.write(`reports/sbom.cdx.json: ${sbom.components.length} packages in production.\n`);
if (faults.length > 0) {
  process.stdout.write(`${faults.join('\n')}\nUse other packages, or change the lists in tools/supply-chain/sbom.ts.\n`);
  process.exitCode = 1;
}
