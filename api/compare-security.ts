import { isDeepStrictEqual } from 'node:util';
import { ACCESS, type BreakingChange } from './breaking-change.ts';
import { describeChange } from './describe-change.ts';
import { asList, asObject, isPartOf, type JsonObject, type Pair, pairsOf } from './json.ts';
import { operationsOf } from './operations.ts';

/** Says nothing of what a client has to send. */
const ANNOTATIONS: ReadonlySet<string> = new Set(['description', 'bearerFormat']);

/**
 * Whoever could call an operation still can: with what satisfied it before, and no more. Scopes are asked of those tokens alone that
 * are restricted to some; while the released document knows none, there are no such tokens.
 */
export function compareSecurity(documents: Pair<JsonObject>, operations: Pair<JsonObject>, place: string): BreakingChange[] {
  const before = alternativesOf(documents.before, operations.before);
  const after = alternativesOf(documents.after, operations.after);
  const anyScope = !knowsScopes(documents.before);
  const locked = before.filter((credentials) => !after.some((required) => satisfies(credentials, required, anyScope)));
  return locked.length === 0 ? [] : [{ place, change: `security ${describeChange({ before, after })}`, harm: ACCESS }];
}

/** How clients authenticate, scheme by scheme. */
export function compareSecuritySchemes({ before, after }: Pair<JsonObject>): BreakingChange[] {
  return Object.entries(schemesOf(before)).flatMap(([name, scheme]) =>
    pairsOf({ before: scheme, after: schemesOf(after)[name] })
      .filter(([field]) => !ANNOTATIONS.has(field) && !field.startsWith('x-'))
      .filter(([, pair]) => !isDeepStrictEqual(pair.before, pair.after))
      .map(([field, pair]) => ({ place: `security scheme ${name}`, change: `${field} ${describeChange(pair)}`, harm: ACCESS })),
  );
}

function schemesOf({ components }: JsonObject): JsonObject {
  return asObject(asObject(components)['securitySchemes']);
}

/** What satisfies an operation, one set of schemes or another; an empty one is nothing at all. */
function alternativesOf(document: JsonObject, operation: JsonObject): readonly JsonObject[] {
  const alternatives = asList(operation['security'] ?? document['security']).map(asObject);
  return alternatives.length === 0 ? [{}] : alternatives;
}

function satisfies(credentials: JsonObject, required: JsonObject, anyScope: boolean): boolean {
  return Object.entries(required).every(([scheme, scopes]) => {
    return Object.hasOwn(credentials, scheme) && (anyScope || isPartOf(asList(scopes), asList(credentials[scheme])));
  });
}

function knowsScopes(document: JsonObject): boolean {
  const alternatives = [...operationsOf(document).values()].flatMap((operation) => alternativesOf(document, operation));
  return alternatives.some((schemes) => Object.values(schemes).some((scopes) => asList(scopes).length > 0));
}
