import 'reflect-metadata';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import JestRuntime from 'jest-runtime';

// Node's own loader loads the tests, as it loads `dist`: packages once for all test files of a worker, with what V8 optimizes, and
// the modules of the project for each test file. Jest's loader takes longer for the packages than most test files take to run.

const require = createRequire(import.meta.url);

/** A package that is loaded for each test file as well, because it keeps the entities of all applications of a process. */
const OF_ONE_FILE = /\/node_modules\/@nestjs\/typeorm\//;

const TRANSFORM = {
  supportsStaticESM: true,
  supportsDynamicImport: true,
  supportsExportNamespaceFrom: true,
  instrument: false,
};

/** Test files that this worker has begun: their number is part of the URLs of their modules. */
let files = 0;

/** Compiles TypeScript, with Jest's cache. @type {ConstructorParameters<typeof JestRuntime>[3]} */
let transformer;

/** Files, by the URL of the module. @type {Map<string, string>} */
const sourceMaps = new Map();

/** The TypeScript file that an import with the extension of its output means. @param {string} specifier @param {string} parent */
function typeScriptOf(specifier, parent) {
  if (!/^\.{1,2}\/.*\.js(?:\?|$)/.test(specifier)) return undefined;
  const { href } = new URL(specifier.replace(/\.js(?=\?|$)/, '.ts'), parent);
  return existsSync(fileURLToPath(href)) ? href : undefined;
}

/** @param {string} url */
const isOfOneFile = (url) => url.startsWith('file:') && (!url.includes('/node_modules/') || OF_ONE_FILE.test(url));

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL = '' } = context;
    if (specifier === '@jest/globals') return { url: import.meta.resolve('./globals.js'), shortCircuit: true };
    if (!/[?&]file=/.test(parentURL)) return nextResolve(specifier, context);
    const url = typeScriptOf(specifier, parentURL);
    const resolved = url ? { url, shortCircuit: true } : nextResolve(specifier, context);
    const separator = resolved.url.includes('?') ? '&' : '?';
    return isOfOneFile(resolved.url) ? { ...resolved, url: `${resolved.url}${separator}file=${files}` } : resolved;
  },
  load(url, context, nextLoad) {
    const [address = ''] = url.split('?');
    if (!address.endsWith('.ts') || address.includes('/node_modules/')) return nextLoad(url, context);
    const path = fileURLToPath(address);
    const { code, sourceMapPath } = transformer.transform(path, TRANSFORM, readFileSync(path, 'utf8'));
    if (sourceMapPath) sourceMaps.set(url, sourceMapPath);
    return { format: 'module', source: code, shortCircuit: true };
  },
});

/** One for each test file. */
export default class Runtime extends JestRuntime {
  /** @param {ConstructorParameters<typeof JestRuntime>} given */
  constructor(...given) {
    super(...given);
    [, , , transformer] = given;
    files += 1;
  }

  /** What Jest runs beside the tests. The adapter of its test runner keeps their state: each file gets a new one. @param {string} path */
  requireInternalModule(path) {
    delete require.cache[path];
    return /** @type {unknown} */ (require(path));
  }

  /** @param {Parameters<JestRuntime['setGlobalsForRuntime']>[0]} globals */
  setGlobalsForRuntime(globals) {
    super.setGlobalsForRuntime(globals);
    // For tests as `nest new` and docs.nestjs.com write them, too: Jest leaves it out in ES modules.
    const { jestGlobals } = /** @type {{ jestGlobals: { jestObjectFor(path: string): unknown } }} */ (
      /** @type {unknown} */ (this)
    );
    Reflect.set(globalThis, 'jest', jestGlobals.jestObjectFor(''));
  }

  getSourceMaps() {
    return sourceMaps;
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** @param {string} path */
  unstable_importModule(path) {
    return import(`${pathToFileURL(path).href}?file=${files}`);
  }
}
