/** Licences of packages whose package.json does not tell, by name and version, each with the place where it stands. */
export const KNOWN_LICENCES: ReadonlyMap<string, string> = new Map([
  // Readme.md, "License": its full text.
  ['pause@0.0.1', 'MIT'],
]);
