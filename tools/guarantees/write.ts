import { writeFileSync } from 'node:fs';
import { claimsOfProject, faultsOf, guaranteesOfProject } from './collect.ts';
import { tableOf } from './table.ts';

// Writes the guarantees of the documents and the tests that show them to test/guarantees.md: npm run guarantees

const [guarantees, claims] = [guaranteesOfProject(), claimsOfProject()];
const faults = faultsOf(guarantees, claims);
writeFileSync('test/guarantees.md', tableOf(guarantees, claims));
process.stdout.write(`test/guarantees.md: ${guarantees.length} guarantees, ${claims.length} claims of tests.\n`);
if (faults.length > 0) {
  process.stdout.write(`${faults.join('\n')}\n`);
  process.exitCode = 1;
}
