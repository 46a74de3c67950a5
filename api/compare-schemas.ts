import { isDeepStrictEqual } from 'node:util';
import { ANSWER, type BreakingChange, REQUEST } from './breaking-change.ts';
import { describeChange } from './describe-change.ts';
import { asList, asObject, isObject, type JsonObject, type Pair, pairsOf, resolve } from './json.ts';
import { isAnnotation, widens } from './schema-keywords.ts';

/** What the compared schemas describe. */
export interface Described {
  readonly documents: Pair<JsonObject>;
  /** Who sends it: the client in a request, the service in an answer. */
  readonly sentIn: 'request' | 'answer';
  /** In the document, like `POST /v1/items, request body`. */
  readonly place: string;
}

/** Where within that: like `items[].name`, and below which schemas. One that contains itself has no end. */
interface Position {
  readonly path: string;
  readonly above: readonly Pair[];
}

/**
 * What breaks clients in a schema that was changed: a request must admit all that it did, and an answer must be nothing that it
 * could not be before. What is not known to keep that is taken to break it.
 */
export function compareSchemas(
  schemas: Pair,
  described: Described,
  position: Position = { path: '', above: [] },
): BreakingChange[] {
  const { path, above } = position;
  const plain: Pair<JsonObject> = {
    before: withoutWrapping(described.documents.before, schemas.before),
    after: withoutWrapping(described.documents.after, schemas.after),
  };
  if ([schemas, plain].some((pair) => above.some(({ before, after }) => before === pair.before && after === pair.after))) {
    return [];
  }
  const harm = described.sentIn === 'request' ? REQUEST : ANSWER;
  const name = path.replace(/^\./, '');
  const own = changesOf(plain, described.sentIn).map((change) => ({
    place: described.place,
    change: name === '' ? change : `${name}: ${change}`,
    harm,
  }));
  const inside = pairsOf(plain).flatMap(([keyword, pair]) =>
    partsOf(keyword, pair).flatMap(([step, parts]) =>
      compareSchemas(parts, described, { path: path + step, above: [...above, schemas, plain] }),
    ),
  );
  return [...own, ...inside];
}

/**
 * Follows a reference, also one with something beside it, and opens an `allOf` of one schema alone, which is how such a reference
 * is written, too. Where both limit the same, both count: it stays closed.
 */
function withoutWrapping(document: JsonObject, schema: unknown): JsonObject {
  const { $ref: reference, ...beside } = asObject(schema);
  if (reference !== undefined && Object.keys(beside).length > 0) {
    return withoutWrapping(document, { ...beside, allOf: [{ $ref: reference }, ...asList(beside['allOf'])] });
  }
  const resolved = resolve(document, schema);
  const { allOf, ...own } = resolved;
  const [only, ...more] = asList(allOf);
  if (only === undefined || more.length > 0) {
    return resolved;
  }
  const inner = withoutWrapping(document, only);
  const isLimitedTwice = Object.keys(own).some((keyword) => Object.hasOwn(inner, keyword) && !isAnnotation(keyword));
  return isLimitedTwice ? resolved : { ...inner, ...own };
}

/** What breaks clients in a schema itself. */
function changesOf({ before, after }: Pair<JsonObject>, sentIn: Described['sentIn']): string[] {
  return pairsOf({ before, after }).flatMap(([keyword, pair]) => {
    if (keyword === 'properties') {
      return changesOfProperties(pair, sentIn === 'answer' && before['additionalProperties'] === false);
    }
    // In a request it is what is meant by nothing.
    const isFine =
      keyword === 'default'
        ? sentIn === 'answer' || isDeepStrictEqual(pair.before, pair.after)
        : sentIn === 'request'
          ? widens(keyword, pair.after, pair.before)
          : widens(keyword, pair.before, pair.after);
    return isFine ? [] : [`${keyword} ${describeChange(pair)}`];
  });
}

function changesOfProperties(properties: Pair, isClosed: boolean): string[] {
  return pairsOf(properties).flatMap(([name, { before, after }]) => {
    if (after === undefined) {
      return [`property ${name} is gone`];
    }
    return before === undefined && isClosed ? [`property ${name} is new, where no other was to be expected`] : [];
  });
}

/** What a keyword contains in both schemas, and the steps that lead there. */
function partsOf(keyword: string, pair: Pair): [step: string, parts: Pair][] {
  switch (keyword) {
    case 'properties':
      return pairsOf(pair).flatMap(([name, parts]) => (isInBoth(parts) ? [[`.${name}`, parts]] : []));
    case 'items':
      return [['[]', pair]];
    case 'additionalProperties':
      return isObject(pair.before) && isObject(pair.after) ? [['.*', pair]] : [];
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return asList(pair.before)
        .map((before, index): Pair => ({ before, after: asList(pair.after)[index] }))
        .flatMap((parts, index) => (isInBoth(parts) ? [[` (${keyword} ${index + 1})`, parts]] : []));
    default:
      return [];
  }
}

function isInBoth({ before, after }: Pair): boolean {
  return before !== undefined && after !== undefined;
}
