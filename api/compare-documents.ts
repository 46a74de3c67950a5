import { isDeepStrictEqual } from 'node:util';
import { ANSWER, type BreakingChange, NAME, REMOVAL, REQUEST } from './breaking-change.ts';
import { compareAnswers, compareRequestBodies } from './compare-bodies.ts';
import { compareParameters } from './compare-parameters.ts';
import { compareSecurity, compareSecuritySchemes } from './compare-security.ts';
import { describeChange } from './describe-change.ts';
import { asList, isPartOf, type JsonObject, type Pair, pairsOf } from './json.ts';
import { operationsOf } from './operations.ts';
import { compareSunsets, judgeRemoval } from './sunset.ts';

/** Compared by themselves, or for people alone. */
const ASIDE: ReadonlySet<string> = new Set([
  'operationId',
  'parameters',
  'requestBody',
  'responses',
  'security',
  'tags',
  'summary',
  'description',
  'externalDocs',
  'deprecated',
]);

/**
 * What breaks clients of an API that was released, in what it is about to become. Additions do not; of all else what is not known
 * to be harmless is taken to break them.
 *
 * @param documents - OpenAPI 3.1, as released and as it is now
 * @param today - of which it depends what may be removed
 */
export function compareDocuments(documents: Pair<JsonObject>, today: Temporal.PlainDate): BreakingChange[] {
  const current = operationsOf(documents.after);
  const operations = [...operationsOf(documents.before)].flatMap(([place, before]) => {
    const after = current.get(place);
    return after ? compareOperations(documents, { before, after }, place) : judgeRemoval(before, place, today);
  });
  return [...compareServers(documents), ...compareSecuritySchemes(documents), ...operations];
}

function compareServers({ before, after }: Pair<JsonObject>): BreakingChange[] {
  return asList(before['servers'])
    .filter((server) => !isPartOf([server], asList(after['servers'])))
    .map((server) => ({ place: 'servers', change: describeChange({ before: server, after: undefined }), harm: REMOVAL }));
}

function compareOperations(documents: Pair<JsonObject>, operations: Pair<JsonObject>, place: string): BreakingChange[] {
  const others = pairsOf(operations)
    .filter(([field, pair]) => !ASIDE.has(field) && !field.startsWith('x-') && !isDeepStrictEqual(pair.before, pair.after))
    .map(([field, pair]) => ({
      place,
      change: `${field} ${describeChange(pair)}`,
      harm: field === 'callbacks' ? ANSWER : REQUEST,
    }));
  return [
    ...compareNames(operations, place),
    ...compareSunsets(operations, place),
    ...compareSecurity(documents, operations, place),
    ...compareParameters(documents, operations, place),
    ...compareRequestBodies(documents, operations, place),
    ...compareAnswers(documents, operations, place),
    ...others,
  ];
}

function compareNames({ before, after }: Pair<JsonObject>, place: string): BreakingChange[] {
  const names = { before: before['operationId'], after: after['operationId'] };
  const isKept = names.before === undefined || names.before === names.after;
  return isKept ? [] : [{ place, change: `operationId ${describeChange(names)}`, harm: NAME }];
}
