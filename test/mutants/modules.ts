import type { Mutant } from '../../tools/mutants/mutant.ts';

export const mutants: readonly Mutant[] = [
  {
    guarantee: 'policy-required',
    file: 'src/platform/auth/scopes.guard.ts',
    search: 'policy === undefined &&',
    replace: 'policy === null &&',
    tests: ['test/wrong-modules.e2e-spec.ts'],
  },
  {
    guarantee: 'start-messages',
    file: 'src/platform/auth/scopes.guard.ts',
    search: "tokenPolicyOf(handler) === 'public'",
    replace: 'tokenPolicyOf(handler) !== undefined',
  },
  {
    guarantee: 'public-path',
    file: 'src/platform/http/late-routes.controller.ts',
    search: 'if (!/(?:^|[\\\\/])\\.\\.(?:[\\\\/]|$)/.test(decodeURIComponent(path))) {',
    replace: "if (path !== '') {",
  },
  {
    guarantee: 'library-routes-guarded',
    file: 'src/platform/http/late-routes.controller.ts',
    search: 'return opened.has(request);',
    replace: 'return true;',
  },
  {
    guarantee: 'start-inputs',
    file: 'src/platform/boot/boot-checks.ts',
    search: 'if (names.size === 0) {',
    replace: 'if (names.size < 0) {',
    tests: ['test/wrong-modules.e2e-spec.ts'],
  },
  {
    guarantee: 'start-paths',
    file: 'src/platform/boot/boot-checks.ts',
    search: 'filter(({ length }) => length > 1)',
    replace: 'filter(({ length }) => length > 2)',
    tests: ['test/wrong-modules.e2e-spec.ts'],
  },
  {
    guarantee: 'start-warnings',
    file: 'src/platform/boot/boot-checks.ts',
    search: 'isPost && !isSafeToRetry(route)',
    replace: 'isPost && isSafeToRetry(route)',
    tests: ['test/nest-modules.e2e-spec.ts'],
  },
  {
    guarantee: 'start-request-scope',
    file: 'src/platform/boot/global-enhancers.ts',
    search: 'if (injectables.has(token)) {',
    replace: 'if (!injectables.has(token)) {',
    tests: ['test/nest-modules.e2e-spec.ts'],
  },
  {
    guarantee: 'response-whitelist',
    file: 'src/platform/openapi/response.interceptor.ts',
    search: 'next.handle().pipe(map(copy))',
    replace: 'next.handle()',
  },
  {
    guarantee: 'throttle-per-route',
    file: 'src/platform/throttling/rate-limit.guard.ts',
    search: 'limit !== throttler.limit || ttl',
    replace: 'limit === throttler.limit && ttl',
    tests: ['test/nest-modules.e2e-spec.ts'],
  },
  {
    guarantee: 'where-undefined',
    file: 'src/platform/lists/list-scope.ts',
    search: 'if (value === undefined) {',
    replace: 'if (value === name) {',
  },
  {
    guarantee: 'where-in',
    file: 'src/platform/lists/list-scope.ts',
    search: "if (type !== 'in' || child ||",
    replace: 'if (child ||',
  },
  {
    guarantee: 'cursor-one-list',
    file: 'src/platform/lists/list-scope.ts',
    search: 'JSON.stringify([metadata.tablePath, values, order',
    replace: 'JSON.stringify([metadata.tablePath, [], order',
  },
  {
    guarantee: 'no-key-for-files',
    file: 'src/platform/idempotency/idempotent.decorator.ts',
    search: "key !== undefined && request.is('multipart')",
    replace: "key === '' && request.is('multipart')",
  },
];
