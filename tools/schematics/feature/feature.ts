import { resolve } from 'node:path';
import { apply, applyTemplates, chain, mergeWith, type Rule, strings, type Tree, url } from '@angular-devkit/schematics';
import { RunSchematicTask } from '@angular-devkit/schematics/tasks/index.js';
import { ModuleDeclarator } from '@nestjs/schematics';
import * as prettier from 'prettier';
import { type Names, namesOf } from './names.ts';

const APP_MODULE = 'src/app.module.ts';

/**
 * Writes a feature into the working tree: all of it, or nothing and an error that says how to fix it. Templates in `files` may use
 * {@link Names}, `timestamp`, `words` and what `strings` of @angular-devkit/schematics has, such as `classify`.
 */
export function feature({ name, singular }: { name: string; singular?: string }): Rule {
  return (tree, context) => {
    const names = namesOf(name, singular);
    checkFree(tree, names.plural);
    // Runs when all is written, and not on a dry run.
    context.addTask(new RunSchematicTask('openapi', names));
    const template = applyTemplates({ ...strings, words, ...names, timestamp: timestampAfter(tree) });
    return chain([mergeWith(apply(url('./files'), [template])), register(names), checkClasses(names), format]);
  };
}

/** `order lines` for `order-lines`. */
const words = (name: string): string => name.replaceAll('-', ' ');

function checkFree(tree: Tree, plural: string): void {
  if (!tree.exists(APP_MODULE)) {
    throw new Error(`There is no ${APP_MODULE} here: run it in the directory of the project's package.json.`);
  }
  for (const path of [`src/${plural}`, `test/${plural}.e2e-spec.ts`]) {
    const { subdirs, subfiles } = tree.getDir(path);
    if (tree.exists(path) || subdirs.length > 0 || subfiles.length > 0) {
      throw new Error(`${path} exists already: choose another name, or remove it first.`);
    }
  }
  const table = strings.underscore(plural);
  const creates = new RegExp(`\\bCREATE TABLE (?:IF NOT EXISTS )?"?${table}\\b`, 'i');
  for (const path of migrations(tree)) {
    if (creates.test(tree.readText(path))) {
      throw new Error(`A table ${table} exists already, made by ${path.slice(1)}: choose another name.`);
    }
  }
}

function migrations(tree: Tree): string[] {
  const paths: string[] = [];
  tree.getDir('src').visit((path) => {
    if (/\/migrations\/\d{13}-[^/]+\.ts$/.test(path)) paths.push(path);
  });
  return paths;
}

/** Now, unless there is a migration of a later time: the new one must be applied last. */
function timestampAfter(tree: Tree): number {
  const timestamps = migrations(tree).map((path) => Number(/\/(\d{13})-/.exec(path)?.[1]));
  return Math.max(Date.now(), ...timestamps.map((timestamp) => timestamp + 1));
}

/** Adds the module to those of the application, as `nest generate` does. */
const register =
  ({ plural }: Names): Rule =>
  (tree) => {
    const file = tree.get(APP_MODULE);
    const source = file?.content.toString() ?? '';
    if (!file || !/@Module\(\{[^]*imports: \[/.test(source)) {
      throw new Error(`${APP_MODULE} is not as expected: it needs @Module({ imports: […] }).`);
    }
    const { path } = tree.getDir(`src/${plural}`);
    const options = { metadata: 'imports', type: 'module', name: plural, path, module: file.path, isEsm: true };
    tree.overwrite(APP_MODULE, new ModuleDeclarator().declare(source, options));
  };

/** `pages`, for example, would make a class Page where one is imported. */
const checkClasses =
  ({ plural }: Names): Rule =>
  (tree) => {
    for (const { path } of tree.actions) {
      const source = tree.readText(path);
      const imported = [...source.matchAll(/^import (?:type )?\{([^}]+)\}/gm)].flatMap(([, names = '']) => names.split(','));
      const declared = [...source.matchAll(/^(?:export )?class (\w+)/gm)].map(([, name = '']) => name);
      const names = [...imported.map((name) => name.trim().replace(/^type /, '')).filter(Boolean), ...declared];
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      if (twice !== undefined) {
        throw new Error(`${path.slice(1)} would have two classes ${twice}: choose another name, such as service-${plural}.`);
      }
    }
  };

/** As `npm run format` would: how a line breaks depends on the length of names. */
const format: Rule = async (tree) => {
  for (const { path } of tree.actions) {
    const filepath = resolve(path.slice(1));
    const options = await prettier.resolveConfig(filepath);
    tree.overwrite(path, await prettier.format(tree.readText(path), { ...options, filepath }));
  }
};
