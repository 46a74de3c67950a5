import { asObject, type JsonObject } from '../api/json.ts';

/** Packages of a lock file, each as `name@version`. */
export interface LockedPackages {
  /** What `npm ci --omit=dev --omit=optional` installs, as the image does. */
  readonly production: ReadonlySet<string>;
  /** All others. */
  readonly development: ReadonlySet<string>;
}

/** Before the name of a package in the path where it is installed. */
const FOLDER = 'node_modules/';

/** @param lock - package-lock.json, of which folders of the project itself do not count */
export function lockedPackages(lock: JsonObject): LockedPackages {
  const installed = Object.entries(asObject(lock['packages']))
    .map(([path, entry]) => ({ path, entry: asObject(entry) }))
    .filter(({ path, entry }) => path.includes(FOLDER) && entry['link'] !== true);
  const production = referencesOf(installed.filter(({ entry }) => !isLeftOut(entry)));
  const development = [...referencesOf(installed)].filter((reference) => !production.has(reference));
  return { production, development: new Set(development) };
}

function isLeftOut(entry: JsonObject): boolean {
  return ['dev', 'devOptional', 'optional'].some((flag) => entry[flag] === true);
}

function referencesOf(installed: readonly { path: string; entry: JsonObject }[]): Set<string> {
  return new Set(
    installed.map(({ path, entry }) => {
      const { name = path.slice(path.lastIndexOf(FOLDER) + FOLDER.length), version } = entry as {
        name?: string;
        version: string;
      };
      return `${name}@${version}`;
    }),
  );
}
