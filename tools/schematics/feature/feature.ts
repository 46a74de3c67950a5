import { resolve } from 'node:path';
import { apply, applyTemplates, chain, mergeWith, type Rule, strings, type Tree, url } from '@angular-devkit/schematics';
import { ModuleDeclarator } from '@nestjs/schematics';
import * as prettier from 'prettier';
import { type Names, namesOf } from './names.ts';

const APP_MODULE = 'src/app.module.ts';

/**
 * Writes a feature into the working tree: all of it, or nothing and an error that says how to fix it. Templates in `files` may use
 * {@link Names}, `timestamp`, `words`, `has('get')` for `--with get`, `hasAny`, `throws` if the service throws 404, and what `strings` of @angular-devkit/schematics has, such as `classify`.
 */
export function feature({ name, singular, with: list }: { name: string; singular?: string; with?: string }): Rule {
  return (tree, { logger }) => {
    const names = namesOf(name, singular);
    for (const path of [`src/${names.plural}/${names.plural}.module.ts`, `test/${names.plural}.e2e-spec.ts`]) {
      if (tree.exists(path)) {
        throw new Error(`${path} exists already: choose another name, or remove it first.`);
      }
    }
    const operations = new Set(list?.split(','));
    const has = (operation: string) => operations.has(operation);
    const [hasAny, throws] = [operations.size > 0, has('get') || (has('delete') && !has('update'))];
    const values = { words, ...names, has, hasAny, throws, timestamp: timestampAfter(tree) };
    const template = applyTemplates({ ...strings, ...values });
    logger.info(`Singular: ${names.singular}. Next, add fields to these files.`);
    register(names, tree);
    return chain([mergeWith(apply(url('./files'), [template])), format]);
  };
}

/** `order lines` for `order-lines`. */
const words = (name: string): string => name.replaceAll('-', ' ');

/** Now, unless there is a migration of a later time: the new one must be applied last. */
function timestampAfter(tree: Tree): number {
  let timestamp = Date.now();
  tree.getDir('src').visit((path) => {
    timestamp = Math.max(timestamp, Number(/\/migrations\/(\d{13})-/.exec(path)?.[1] ?? 0) + 1);
  });
  return timestamp;
}

/** Adds the module to those of the application, as `nest generate` does. */
function register({ plural }: Names, tree: Tree): void {
  const { path } = tree.getDir(`src/${plural}`);
  const module = tree.get(APP_MODULE)?.path ?? path;
  const options = { metadata: 'imports', type: 'module', name: plural, path, module, isEsm: true };
  tree.overwrite(APP_MODULE, new ModuleDeclarator().declare(tree.readText(APP_MODULE), options));
}

/** As `npm run format` would: how a line breaks depends on the length of names. */
const format: Rule = async (tree) => {
  for (const { path } of tree.actions) {
    const filepath = resolve(path.slice(1));
    const options = await prettier.resolveConfig(filepath);
    tree.overwrite(path, await prettier.format(tree.readText(path), { ...options, filepath }));
  }
};
