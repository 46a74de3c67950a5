import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A small change of the source that breaks a guarantee. The tests that claim it must fail. */
export interface Mutant {
  /** Key of the guarantee: see `test/guarantees.md`. */
  readonly guarantee: string;
  /** The file that is changed. */
  readonly file: string;
  /** A text that occurs in it once. */
  readonly search: string;
  readonly replace: string;
  /** Of the files that claim the guarantee, those that are quick: all unless given. */
  readonly tests?: readonly string[];
  /** Whether it breaks the guarantee on the embedded database only: the tests run without servers. */
  readonly embedded?: boolean;
}

/** All mutants of `test/mutants`, by file and place. */
export async function readMutants(): Promise<Mutant[]> {
  const files = globSync('test/mutants/*.ts').toSorted();
  const modules = files.map(
    async (file) => (await import(pathToFileURL(resolve(file)).href)) as { mutants: readonly Mutant[] },
  );
  return (await Promise.all(modules)).flatMap(({ mutants }) => mutants);
}

/** @throws Error unless the text that is searched occurs once */
export function mutate(source: string, { file, search, replace }: Mutant): string {
  const [before = '', after, ...more] = source.split(search);
  if (after === undefined || more.length > 0) {
    const count = after === undefined ? 'is not there' : 'occurs more than once';
    throw new Error(`The text ${JSON.stringify(search)} ${count} in ${file}: correct it in test/mutants.`);
  }
  return before + replace + after;
}
