import type { Mutant } from '../../tools/mutants/mutant.ts';

export const mutants: readonly Mutant[] = [
  {
    guarantee: 'deprecation-announced',
    file: 'src/platform/openapi/deprecation.ts',
    search: 'guards.unshift(',
    replace: 'guards.push(',
    tests: ['test/deprecation.e2e-spec.ts'],
  },
  {
    guarantee: 'deprecated-counted',
    file: 'src/platform/openapi/deprecation.ts',
    search: "return 'jwt';",
    replace: "return 'token';",
  },
  {
    guarantee: 'start-deprecations',
    file: 'src/platform/openapi/deprecation.ts',
    search: 'new Date(sunset) < earliest',
    replace: 'new Date(sunset) < new Date(since)',
  },
  {
    guarantee: 'sunset-kept',
    file: 'tools/api/breaking-changes.ts',
    search: 'deprecated === true && isDay && sunset <=',
    replace: 'deprecated === true && isDay && sunset <= sunset + ',
  },
];
