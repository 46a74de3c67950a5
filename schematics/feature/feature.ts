import { resolve } from 'node:path';
import { apply, applyTemplates, chain, mergeWith, type Rule, type Tree, url } from '@angular-devkit/schematics';
import { RunSchematicTask } from '@angular-devkit/schematics/tasks/index.js';
import * as prettier from 'prettier';
import { duplicateName } from './duplicate-name.ts';
import { type Names, namesOf } from './names.ts';
import { registerModule } from './register-module.ts';

const APP_MODULE = 'src/app.module.ts';

/**
 * Writes a feature into the working tree: all of it, or nothing and an error that says how to mend it. What its files hold
 * is in `files`; their names and texts may use all of {@link Names} and `timestamp`.
 */
export function feature({ name, singular }: { name: string; singular?: string }): Rule {
  return (tree, context) => {
    const names = namesOf(name, singular);
    checkFree(tree, names);
    // Runs when all is written, and not on a dry run.
    context.addTask(new RunSchematicTask('openapi', names));
    const files = apply(url('./files'), [applyTemplates({ ...names, timestamp: timestampAfter(tree) })]);
    return chain([mergeWith(files), register(names), checkClasses(names), format]);
  };
}

function checkFree(tree: Tree, { plural, table }: Names): void {
  if (!tree.exists(APP_MODULE)) {
    throw new Error(`There is no ${APP_MODULE} here: run it in the directory of the project's package.json.`);
  }
  for (const path of [`src/${plural}`, `test/${plural}.e2e-spec.ts`]) {
    const { subdirs, subfiles } = tree.getDir(path);
    if (tree.exists(path) || subdirs.length > 0 || subfiles.length > 0) {
      throw new Error(`${path} exists already: choose another name, or remove it first.`);
    }
  }
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

const register =
  ({ Plural, plural }: Names): Rule =>
  (tree) => {
    tree.overwrite(APP_MODULE, registerModule(tree.readText(APP_MODULE), `${Plural}Module`, `${plural}/${plural}.module.js`));
  };

/** `pages`, say, would make a class Page where one is imported. */
const checkClasses =
  ({ plural }: Names): Rule =>
  (tree) => {
    for (const { path } of tree.actions) {
      const name = duplicateName(tree.readText(path));
      if (name !== undefined) {
        throw new Error(`${path.slice(1)} would have two classes ${name}: choose another name, such as service-${plural}.`);
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
