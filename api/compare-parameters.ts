import { isDeepStrictEqual } from 'node:util';
import { type BreakingChange, REQUEST } from './breaking-change.ts';
import { compareSchemas } from './compare-schemas.ts';
import { describeChange } from './describe-change.ts';
import { asList, type JsonObject, type Pair, pairsOf, resolve } from './json.ts';

/** Compared by themselves, or saying nothing of what a client may send. */
const ASIDE: ReadonlySet<string> = new Set([
  'name',
  'in',
  'required',
  'schema',
  'description',
  'example',
  'examples',
  'deprecated',
]);

/** What clients send in path, query and header: all that they may send today they still may, and it means the same. */
export function compareParameters(
  documents: Pair<JsonObject>,
  operations: Pair<JsonObject>,
  operation: string,
): BreakingChange[] {
  const before = parametersOf(documents.before, operations.before);
  const after = parametersOf(documents.after, operations.after);
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names.flatMap((name) => {
    const parameters = { before: before.get(name), after: after.get(name) };
    const own = changesOf(parameters).map((change) => ({ place: operation, change: `${name} ${change}`, harm: REQUEST }));
    const schemas = { before: parameters.before?.['schema'], after: parameters.after?.['schema'] };
    const isInBoth = parameters.before && parameters.after;
    const place = `${operation}, ${name}`;
    return own.concat(isInBoth ? compareSchemas(schemas, { documents, sentIn: 'request', place }) : []);
  });
}

function changesOf({ before, after }: Pair<JsonObject | undefined>): string[] {
  if (!after) {
    return ['is gone'];
  }
  const demands = after['required'] === true && before?.['required'] !== true ? ['is required now'] : [];
  const others = pairsOf({ before, after }).filter(
    ([field, pair]) => !ASIDE.has(field) && !field.startsWith('x-') && !isDeepStrictEqual(pair.before, pair.after),
  );
  return before ? demands.concat(others.map(([field, pair]) => `has another ${field}: ${describeChange(pair)}`)) : demands;
}

/** By place and name, such as `query parameter limit`. Headers have no case. */
function parametersOf(document: JsonObject, operation: JsonObject): ReadonlyMap<string, JsonObject> {
  const parameters = asList(operation['parameters']).map((parameter) => resolve(document, parameter));
  return new Map(parameters.map((parameter) => [nameOf(parameter), parameter]));
}

function nameOf({ in: place, name }: JsonObject): string {
  return `${String(place)} parameter ${place === 'header' ? String(name).toLowerCase() : String(name)}`;
}
