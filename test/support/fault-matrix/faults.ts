import type { RowResult } from './matrix.js';
import { issuer, limiter, names } from './other-faults.js';
import { connections, failover, server } from './postgres-faults.js';
import { type Chain, Rows } from './rows.js';

/** The longest ones first. */
const CHAINS = [names, issuer, server, connections, limiter, failover];

/** Chains at a time, so that the processes of all do not start at once. */
const CONCURRENT = 3;

/** Commits all faults. @param results - what each showed, which it fills @returns errors that kept rows from being filled */
export async function commitFaults(results: Map<string, RowResult>): Promise<unknown[]> {
  const commit = async ({ faults, subjects }: Chain): Promise<void> => {
    const rows = new Rows(subjects);
    for (const [place, [name, fault]] of Object.entries(faults).entries()) {
      const row = rows.run(fault, place);
      results.set(name, await row.catch((error: unknown) => ({ cells: {}, wrong: [String(error)] })));
    }
    expect(await rows.stop()).toEqual([0, 0]);
  };
  const waiting = CHAINS.values();
  const errors: unknown[] = [];
  const commitNext = async () => {
    for (const prepare of waiting) {
      // The rows of other chains still show what they found.
      await prepare()
        .then(commit)
        .catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, commitNext));
  return errors;
}
