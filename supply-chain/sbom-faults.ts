import type { JsonObject } from '../api/json.ts';
import type { Component, Sbom } from './npm-sbom.ts';

/**
 * What is wrong with a bill of materials itself.
 *
 * @param project - the package.json that it is of
 * @param expected - the packages that have to be in it, as `name@version`
 */
export function sbomFaults(
  { bomFormat, metadata, components }: Sbom,
  project: JsonObject,
  expected: ReadonlySet<string>,
): string[] {
  const root = `${metadata.component.name}@${metadata.component.version}`;
  const listed = new Set(components.map((component) => component['bom-ref']));
  const missing = [...expected].filter((reference) => !listed.has(reference));
  return [
    ...(bomFormat === 'CycloneDX' ? [] : [`The document is ${bomFormat}, and not CycloneDX.`]),
    ...(root === `${String(project['name'])}@${String(project['version'])}`
      ? []
      : [`The document is of ${root}, and not of this project.`]),
    ...missing.map((reference) => `${reference} is locked, and not installed: run npm ci.`),
    ...components
      .filter(isUnpinned)
      .map((component) => `${component['bom-ref']} has no hash in package-lock.json: take it from a registry.`),
  ];
}

function isUnpinned({ hashes = [] }: Component): boolean {
  return hashes.length === 0;
}
