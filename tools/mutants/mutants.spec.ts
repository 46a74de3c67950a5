import { readFileSync } from 'node:fs';
import { claimsOfProject } from '../guarantees/collect.ts';
import { mutate, readMutants } from './mutant.ts';

it('mutants change what is in the source, and break guarantees that tests claim', async () => {
  const [mutants, claims] = [await readMutants(), claimsOfProject()];
  for (const mutant of mutants) {
    const source = readFileSync(mutant.file, 'utf8');
    expect(mutate(source, mutant)).not.toBe(source);
    const files = claims.filter(({ key }) => key === mutant.guarantee).map(({ file }) => file);
    expect(files).toEqual(expect.arrayContaining([...(mutant.tests ?? [])]));
    expect({ ...mutant, isClaimed: files.length > 0 }).toMatchObject({ isClaimed: true });
  }
  expect(mutants.length).toBeGreaterThan(0);
});
