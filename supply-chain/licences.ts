import { isAllowed } from './spdx-expression.ts';
import type { Component, Licence } from './npm-sbom.ts';

/** Which licences packages may have. */
export interface Policy {
  /** What the packages are for, to be read after "packages". */
  readonly use: string;
  readonly allowed: ReadonlySet<string>;
}

/** They ask for no more than their notice, so that the service may be used and passed on in any way. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'PostgreSQL',
  'Python-2.0',
];

export const PRODUCTION: Policy = { use: 'in production', allowed: new Set(PERMISSIVE) };

/** What is not passed on may also be in the public domain, data that names its source, or open in each file that is changed. */
export const DEVELOPMENT: Policy = {
  use: 'for development',
  allowed: new Set([...PERMISSIVE, 'CC-BY-4.0', 'CC0-1.0', 'MPL-2.0', 'Unlicense']),
};

/** What is wrong with the licences of packages, and what is to be done. */
export function licenceFaults(components: readonly Component[], { use, allowed }: Policy): string[] {
  return components.flatMap(({ 'bom-ref': reference, licenses = [] }) => {
    if (licenses.length === 0) {
      return `${reference} tells no licence that SPDX knows: read what it comes with, and add it to supply-chain/known-licences.ts.`;
    }
    return licenses
      .map(expressionOf)
      .filter((expression) => !isAllowed(expression, allowed))
      .map(
        (expression) =>
          `${reference} is under ${expression}, which packages ${use} may not have: use another package, or have it allowed in supply-chain/licences.ts.`,
      );
  });
}

/** Every licence that packages have, and how many have it. */
export function licencesOf(components: readonly Component[]): string {
  const expressions = components.flatMap(({ licenses = [] }) => licenses.map(expressionOf));
  return [...Map.groupBy(expressions, (expression) => expression)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([expression, alike]) => `${alike.length} ${expression}`)
    .join(', ');
}

function expressionOf(licence: Licence): string {
  return 'expression' in licence ? licence.expression : (licence.license.id ?? licence.license.name ?? '');
}
