import vm from 'node:vm';

/** @typedef {import('node:vm').ScriptOptions['importModuleDynamically']} Importer */

/** @type {Map<string, { code: string, script: vm.Script }>} */
const compiled = new Map();

/** What runs `import()` in a file, for the test file that runs now. @type {Map<string, Importer>} */
const importers = new Map();

const { compileFunction } = vm;

/** @param {string} code @param {readonly string[]} parameters @param {string} filename */
function compile(code, parameters, filename) {
  const head = `(function (${parameters.join(', ')}) {`;
  const script = new vm.Script(`${head}${code}\n})`, {
    filename,
    columnOffset: -head.length,
    importModuleDynamically: (...given) => {
      const importer = importers.get(filename);
      if (typeof importer !== 'function') throw new Error(`${filename} imports after the tests of the file that loaded it.`);
      return importer(...given);
    },
  });
  compiled.set(filename, { code, script });
  return script;
}

/**
 * Lets Jest compile each file of a package once for all test files of a worker, with what V8 compiles when it is called. Jest would
 * compile it for each test file, most of which load the same packages.
 */
export function compilePackagesOnce() {
  vm.compileFunction = (code, parameters = [], options = {}) => {
    const { filename = '', parsingContext, importModuleDynamically } = options;
    if (!filename.includes('/node_modules/') || !parsingContext) return compileFunction(code, parameters, options);
    importers.set(filename, importModuleDynamically);
    const known = compiled.get(filename);
    const script = known?.code === code ? known.script : compile(code, parameters, filename);
    return /** @type {ReturnType<typeof compileFunction>} */ (script.runInContext(parsingContext));
  };
}

/** After the tests of a file, whose modules would otherwise stay in memory. */
export function forgetImporters() {
  importers.clear();
}
