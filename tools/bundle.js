import { appendFile, cp, readFile } from 'node:fs/promises';
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'rolldown';

const { resolve } = createRequire(import.meta.url);

/** Packages that Nest's core imports on demand and whole, while the service uses parts of them. */
const onDemand = new Set(['class-validator', '@nestjs/platform-express']);

/** Removes modules that packages load at start without need. */
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
      // The ES modules, from which unused validators are removed.
      return resolve('class-validator/esm5/index.js');
    }
    return kind === 'import-statement' && /^(?:node:)?http$/.test(id) ? '\0http' : null;
  },
  /** @param {string} id */
  load(id) {
    if (/@nestjs\/typeorm\/.*typeorm-compat/.test(id)) {
      // Would load TypeORM again, to look for exports that version 1 does not have.
      return 'export const [Connection, AbstractRepository] = [];';
    }
    if (/\/typeorm\/driver\/(?!postgres|types)[\w-]+\//.test(id)) {
      // The drivers of other databases, a sixth of all packages.
      return '';
    }
    // An import of node:http reads all its exports, and the export WebSocket loads undici.
    const names = Object.keys(http).filter((name) => Object.getOwnPropertyDescriptor(http, name)?.get === undefined);
    return id === '\0http' ? `export const { ${names.join(', ')} } = process.getBuiltinModule('node:http');` : null;
  },
};

const compiled = join(import.meta.dirname, '../build/');

/** Maps to the TypeScript sources, and omits packages, which would make the source maps eight times as large. */
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

/** The file of all packages. */
const PACKAGES = 'packages';

// Bundles the compiled service (build) and its packages into a few files (dist): docs/adr/0024.
const { output } = await build({
  input: ['build/main.js', 'build/cli.js'],
  platform: 'node',
  plugins: [lean, sourceMaps],
  // Removes Multer (uploads) while no module uses it.
  treeshake: { moduleSideEffects: [{ test: /@nestjs\/platform-express/, sideEffects: false }] },
  external: [
    // Nest's mapped types load it by name and must get the same instance.
    'class-transformer',
    // Loaded on demand, some with files next to their code.
    /^ajv(?:-formats)?(?:\/|$)/,
    /^@electric-sql\/pglite\b/,
    /^@opentelemetry\/(?!api$)/,
    'ioredis',
    'pino-pretty',
  ],
  // Packages have optional dependencies that are not installed.
  checks: { unresolvedImport: false },
  output: {
    dir: 'dist',
    cleanDir: true,
    chunkFileNames: '[name].js',
    // Nest and TypeORM use class names.
    keepNames: true,
    codeSplitting: { groups: [{ name: PACKAGES, test: /node_modules/ }] },
    comments: { jsdoc: false },
    sourcemap: 'hidden',
    sourcemapExcludeSources: true,
  },
});
// Not for packages: Node would read their source map, too, at every start.
for (const { fileName } of output.filter((file) => file.type === 'chunk' && file.name !== PACKAGES)) {
  await appendFile(`dist/${fileName}`, `//# sourceMappingURL=${fileName}.map\n`);
}
await cp('build/platform/docs/assets', 'dist/assets', { recursive: true });
