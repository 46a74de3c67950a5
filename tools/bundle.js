import { cp, readFile } from 'node:fs/promises';
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'rolldown';

const { resolve } = createRequire(import.meta.url);

/** Packages that Nest's core imports on demand, as a whole; the service uses parts of them. */
const onDemand = new Set(['class-validator', '@nestjs/platform-express']);

/** Leaves out what packages would load at the start for nothing. */
const lean = {
  name: 'lean',
  /**
   * @param {string} id
   * @param {string | undefined} _importer
   * @param {{ kind: string }} options
   */
  resolveId(id, _importer, { kind }) {
    if (kind === 'dynamic-import' && onDemand.has(id)) {
      return { id, external: true };
    }
    if (id === 'class-validator') {
      // Its ES modules, of which validators that are not used can be left out.
      return resolve('class-validator/esm5/index.js');
    }
    return kind === 'import-statement' && /^(?:node:)?http$/.test(id) ? '\0http' : null;
  },
  /** @param {string} id */
  load(id) {
    if (/@nestjs\/typeorm\/.*typeorm-compat/.test(id)) {
      // It would load all of TypeORM once more, to find what version 1 does not have.
      return 'export const [Connection, AbstractRepository] = [];';
    }
    // An import statement reads everything that node:http exports, and its export WebSocket loads undici.
    const names = Object.keys(http).filter((name) => Object.getOwnPropertyDescriptor(http, name)?.get === undefined);
    return id === '\0http' ? `export const { ${names.join(', ')} } = process.getBuiltinModule('node:http');` : null;
  },
};

const compiled = join(import.meta.dirname, '../build/');

/** Leads source maps on to the TypeScript, and leaves packages out of them: with these they would be eight times as large. */
const sourceMaps = {
  name: 'source-maps',
  /** @param {string} id */
  async load(id) {
    return id.startsWith(compiled) ? { code: await readFile(id, 'utf8'), map: await readFile(`${id}.map`, 'utf8') } : null;
  },
  /**
   * @param {string} code
   * @param {string} id
   */
  transform(code, id) {
    return id.startsWith(compiled) ? null : { code, map: { mappings: '' } };
  },
};

// Makes what runs, in dist, of what is compiled, in build: the service and its packages in a few files. See docs/adr/0024.
await build({
  input: ['build/main.js', 'build/cli.js'],
  platform: 'node',
  plugins: [lean, sourceMaps],
  // Multer, for uploads, is left out as long as no module uses it.
  treeshake: { moduleSideEffects: [{ test: /@nestjs\/platform-express/, sideEffects: false }] },
  external: [
    // Nest's mapped types ask for it by name, and must get the one that the service has.
    'class-transformer',
    // Loaded on demand, some with files beside their code.
    /^ajv(?:-formats)?(?:\/|$)/,
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
    // For the log, which reads them. Node would take code of packages for the nearest of ours.
    sourcemap: 'hidden',
    sourcemapExcludeSources: true,
  },
});
await cp('build/platform/docs/assets', 'dist/assets', { recursive: true });
