import type { Mutant } from '../../tools/mutants/mutant.ts';

export const mutants: readonly Mutant[] = [
  {
    guarantee: 'jwt-type',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: "if (typeof typ !== 'string' || !TYPE.test(typ)) {",
    replace: "if (typeof typ !== 'string') {",
    tests: ['src/platform/auth/jwt/jwt-verifier.spec.ts'],
  },
  {
    guarantee: 'jwt-algorithms',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: "['RS256', 'ES256', 'EdDSA', 'Ed25519']",
    replace: "['RS256', 'ES256', 'EdDSA']",
    tests: ['src/platform/auth/jwt/jwt-verifier.spec.ts'],
  },
  {
    guarantee: 'jwt-claims-required',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: "requiredClaims: ['exp', 'sub']",
    replace: "requiredClaims: ['sub']",
    tests: ['src/platform/auth/jwt/jwt-verifier.spec.ts'],
  },
  {
    guarantee: 'jwt-of-issuer-only',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: 'issuer, audience, clockTolerance',
    replace: 'issuer, clockTolerance',
    tests: ['src/platform/auth/jwt/jwt-verifier.spec.ts'],
  },
  {
    guarantee: 'jwt-expiry-leeway',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: 'const LEEWAY = 30;',
    replace: 'const LEEWAY = 0;',
    tests: ['src/platform/auth/jwt/jwt-verifier.spec.ts'],
  },
  {
    guarantee: 'jwt-default-scopes',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: '[scope, scp, defaults].find',
    replace: '[scp, defaults, scope].find',
    tests: ['src/platform/auth/jwt/jwt-verifier.spec.ts'],
  },
  {
    guarantee: 'scopes-only-named',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: "claim.split(' ')",
    replace: "claim.split(',')",
    tests: ['src/platform/auth/jwt/jwt-verifier.spec.ts'],
  },
  {
    guarantee: 'issuer-https',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: ' || !isTrustworthyUrl(url)',
    replace: '',
    tests: ['src/platform/auth/jwt/issuer-keys.spec.ts'],
  },
  {
    guarantee: 'issuer-keys-kept',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: "refreshes.inc({ result: 'failure' });",
    replace: `refreshes.inc({ result: 'failure' });
      known = { keys: [] };`,
    tests: ['src/platform/auth/jwt/issuer-keys.spec.ts'],
  },
  {
    guarantee: 'issuer-fetches-limited',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: 'cooldownDuration: pause',
    replace: 'cooldownDuration: 0',
    tests: ['src/platform/auth/jwt/issuer-keys.spec.ts'],
  },
  {
    guarantee: 'issuer-key-withdrawn',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: 'setInterval(() => void keys.reload(), ',
    replace: 'setInterval(() => undefined, ',
    tests: ['src/platform/auth/jwt/issuer-keys.spec.ts'],
  },
  {
    guarantee: 'jwt-limit-by-subject',
    file: 'src/platform/auth/jwt/jwt-verifier.ts',
    search: 'v5(sub, v5(',
    replace: 'v5(sub + Math.random(), v5(',
    tests: ['test/rate-limit.e2e-spec.ts'],
  },
];
