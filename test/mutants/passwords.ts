import type { Mutant } from '../../tools/mutants/mutant.ts';

export const mutants: readonly Mutant[] = [
  {
    guarantee: 'password-rotation',
    file: 'src/platform/config/password-file.ts',
    search: 'return this.#accepted;',
    replace: 'return password;',
    tests: ['src/platform/config/password-file.spec.ts'],
  },
  {
    guarantee: 'password-once',
    file: 'src/platform/config/password-file.ts',
    search: '[^@/?#]+@|[?&]password=[^&#]/',
    replace: '[^@/?#]+@/',
    tests: ['src/platform/config/password-file.spec.ts'],
  },
  {
    guarantee: 'password-file-checked',
    file: 'src/platform/config/password-file.ts',
    search: "if (password === '' || password",
    replace: 'if (password',
    tests: ['src/platform/config/password-file.spec.ts'],
  },
  {
    guarantee: 'connection-lifetime',
    file: 'src/platform/database/data-source-options.ts',
    search: 'maxLifetimeSeconds: LIFETIME,',
    replace: '',
  },
  {
    guarantee: 'exclusive-work',
    file: 'src/platform/database/exclusive-work.ts',
    search: 'this.running.has(name) || ',
    replace: '',
    tests: ['test/exclusive-work.e2e-spec.ts'],
    embedded: true,
  },
  {
    guarantee: 'exclusive-work-outside',
    file: 'src/platform/database/exclusive-work.ts',
    search: 'if (transactionOf(this.dataSource)) {',
    replace: 'if (!this.dataSource) {',
  },
  {
    guarantee: 'password-rotation',
    file: 'src/platform/database/data-source-options.ts',
    search: "new PasswordFile('DATABASE_PASSWORD_FILE', path)",
    replace: "(Object(configuration).passwords ??= new PasswordFile('DATABASE_PASSWORD_FILE', path))",
    tests: ['src/platform/database/data-source-options.spec.ts'],
  },
];
