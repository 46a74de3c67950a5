import type { Mutant } from '../../tools/mutants/mutant.ts';

export const mutants: readonly Mutant[] = [
  {
    guarantee: 'key-reused',
    file: 'src/platform/idempotency/stored-responses.ts',
    search: '!kept.digest.equals(digest)',
    replace: 'kept.digest.length === 0',
    tests: ['test/idempotency.e2e-spec.ts'],
  },
  {
    guarantee: 'key-one-path',
    file: 'src/platform/idempotency/idempotent.decorator.ts',
    search: '`${method} ${originalUrl}\\n${canonical}`',
    replace: "canonical ?? ''",
    tests: ['test/idempotency.e2e-spec.ts'],
  },
  {
    guarantee: 'key-canonical',
    file: 'src/platform/idempotency/idempotent.decorator.ts',
    search: 'JSON.stringify(body, sortProperties)',
    replace: 'JSON.stringify(body)',
    tests: ['test/idempotency.e2e-spec.ts'],
  },
  {
    guarantee: 'key-form',
    file: 'src/platform/idempotency/idempotent.decorator.ts',
    search: '{1,255}',
    replace: '{1,256}',
    tests: ['test/idempotency.e2e-spec.ts'],
  },
  {
    guarantee: 'key-per-token',
    file: 'src/platform/idempotency/idempotent.decorator.ts',
    search: "request.user?.familyId ?? ''",
    replace: "'0190163d-8694-739b-aea5-966c26f8ad91'",
    tests: ['test/idempotency.e2e-spec.ts'],
  },
  {
    guarantee: 'key-once',
    file: 'src/platform/idempotency/idempotent.decorator.ts',
    search: "response.setHeader('Idempotent-Replayed', 'true');",
    replace: "response.removeHeader('Idempotent-Replayed');",
    tests: ['test/idempotency.e2e-spec.ts'],
  },
  {
    guarantee: 'stored-as-sent',
    file: 'src/platform/idempotency/idempotent.decorator.ts',
    search: '[IdempotencyInterceptor, ...others]',
    replace: '[...others, IdempotencyInterceptor]',
  },
  {
    guarantee: 'transaction-late-statements',
    file: 'src/platform/database/transactions.ts',
    search: 'Object.assign(runner, { isReleased: true });',
    replace: '',
    tests: ['test/nest-modules.e2e-spec.ts'],
  },
  {
    guarantee: 'transaction-late-statements',
    file: 'src/platform/database/transactions.ts',
    search: 'await endOfTurn();',
    replace: '',
    tests: ['test/nest-modules.e2e-spec.ts'],
  },
  {
    guarantee: 'after-commit',
    file: 'src/platform/database/transactions.ts',
    search: 'outer.onCommit.push(...onCommit);',
    replace: 'onCommit.forEach((callback) => callback());',
    tests: ['test/nest-modules.e2e-spec.ts'],
  },
];
