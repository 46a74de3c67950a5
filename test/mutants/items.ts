import type { Mutant } from '../../tools/mutants/mutant.ts';

export const mutants: readonly Mutant[] = [
  {
    guarantee: 'cursor-unchanged',
    file: 'src/platform/lists/cursor.ts',
    search: 'return isWhole && encodeCursor(found, filter) === cursor ?',
    replace: 'return isWhole ?',
    tests: ['test/items.e2e-spec.ts'],
  },
];
