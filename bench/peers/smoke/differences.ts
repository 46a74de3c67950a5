import { AssertionError, deepStrictEqual } from 'node:assert';
import type { Server } from '../server.ts';
import type { Workload } from '../workloads.ts';

/** How the answers of a server differ from those expected, in words; none if they do not. */
export function differences({ kind }: Server, { name }: Workload, actual: unknown, expected: unknown): string[] {
  try {
    deepStrictEqual(actual, expected);
    return [];
  } catch (error) {
    if (error instanceof AssertionError) {
      return [`The server "${kind.name}" answers "${name}" differently. ${error.message}`];
    }
    throw error;
  }
}
