import type { Mutant } from '../../tools/mutants/mutant.ts';

export const mutants: readonly Mutant[] = [
  {
    guarantee: 'lost-update',
    file: 'src/platform/lists/change-row.ts',
    search: '`${version} = ANY(:demanded)`',
    replace: "'TRUE'",
  },
  {
    guarantee: 'etag-conditions',
    file: 'src/platform/preconditions/etag.interceptor.ts',
    search: 'matches(ifMatch, body.etag)',
    replace: 'matches(opaqueTags(ifMatch), body.etag)',
    tests: ['test/concurrent-changes.e2e-spec.ts'],
  },
  {
    guarantee: 'etag-conditions',
    file: 'src/platform/preconditions/etag.interceptor.ts',
    search: 'matches(opaqueTags(ifNoneMatch), body.etag)',
    replace: 'matches(ifNoneMatch, body.etag)',
    tests: ['test/concurrent-changes.e2e-spec.ts'],
  },
  {
    guarantee: 'etag-conditions',
    file: 'src/platform/preconditions/entity-tags.ts',
    search: 'etagOf({ id, version: Number(version) }) === tag',
    replace: "version !== ''",
    tests: ['test/concurrent-changes.e2e-spec.ts'],
  },
  {
    guarantee: 'etag-malformed',
    file: 'src/platform/preconditions/entity-tags.ts',
    search: 'CONDITION.test(value) ? tags : undefined',
    replace: 'tags',
  },
  {
    guarantee: 'etag-missing',
    file: 'src/platform/lists/change-row.ts',
    search: 'throw ifMatch || isThere ?',
    replace: 'throw isThere ?',
  },
  {
    guarantee: 'last-writer-wins',
    file: 'src/platform/lists/change-row.ts',
    search: "ifMatch = '*'",
    replace: 'ifMatch = []',
  },
  {
    guarantee: 'etag-replayed',
    file: 'src/platform/idempotency/idempotent.decorator.ts',
    search: 'useOutermost(IdempotencyInterceptor, EtagInterceptor)',
    replace: 'useOutermost(IdempotencyInterceptor)',
  },
  {
    guarantee: 'etag-documented',
    file: 'src/platform/openapi/describe-conditions.ts',
    search: 'isRead || hasPrecondition(route)',
    replace: 'isRead',
  },
  {
    guarantee: 'start-conditions',
    file: 'src/platform/openapi/describe-conditions.ts',
    search: '!hasPrecondition(route)',
    replace: "route.name === ''",
  },
];
