import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asObject } from '../api/json.ts';
import { DEVELOPMENT, licenceFaults, licencesOf, PRODUCTION } from './licences.ts';
import { lockedPackages } from './locked-packages.ts';
import { onlyOf, readSbom } from './npm-sbom.ts';
import { sbomFaults } from './sbom-faults.ts';

// Writes what runs in production to reports/sbom.cdx.json (CycloneDX), and checks the licences of that, and of what it is developed
// with. Exits with 1 when something is wrong, and says what is to be done: npm run sbom

const directory = 'reports';
const read = (file: string) => asObject(JSON.parse(readFileSync(file, 'utf8')));
const project = read('package.json');
const locked = lockedPackages(read('package-lock.json'));
const everything = readSbom(project);
const production = onlyOf(everything, locked.production);
const development = onlyOf(everything, locked.development).components;

const file = join(directory, 'sbom.cdx.json');
mkdirSync(directory, { recursive: true });
writeFileSync(file, `${JSON.stringify(production, null, 2)}\n`);

process.stdout.write(`${file}: ${production.components.length} packages in production: ${licencesOf(production.components)}.\n`);
process.stdout.write(`Beside them ${development.length} for development: ${licencesOf(development)}.\n`);
const faults = [
  ...sbomFaults(production, project, locked.production),
  ...licenceFaults(production.components, PRODUCTION),
  ...licenceFaults(development, DEVELOPMENT),
];
if (faults.length > 0) {
  process.stdout.write(`\n${faults.join('\n')}\n`);
  process.exitCode = 1;
}
