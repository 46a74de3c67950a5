import { cp } from 'node:fs/promises';
import { build } from 'rolldown';

// Makes what runs, in dist, of what is compiled, in build: the service and its packages in a few files. docs/adr/0024 tells why.
await build({
  input: ['build/main.js', 'build/cli.js'],
  platform: 'node',
  external: [
    // Nest's mapped types ask for these by name, and must get the ones that the service has.
    /^class-(transformer|validator)\b/,
    // Loaded on demand, some with files beside their code.
    /^@electric-sql\/pglite\b/,
    /^@opentelemetry\/(?!api$)/,
    'ioredis',
    'pino-pretty',
  ],
  // Packages try to load others that are not installed, and do without.
  checks: { unresolvedImport: false },
  output: {
    dir: 'dist',
    cleanDir: true,
    chunkFileNames: '[name].js',
    // Nest and TypeORM go by the names of classes.
    keepNames: true,
  },
});
await cp('build/platform/docs/assets', 'dist/assets', { recursive: true });
