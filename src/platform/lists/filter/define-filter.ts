import type { Type } from '@nestjs/common';
import { codePoints } from '../../validation/code-points.js';
import { checkFields } from '../filter-columns.js';
import { compileExpression, MAXIMUM_CONDITIONS, MAXIMUM_SEARCHES } from './compile-expression.js';
import type { Condition } from './condition.js';
import { type FieldsOf, type FilterField, type FilterFields, notationOf } from './filter-fields.js';
import { FilterError, MAXIMUM_LENGTH, parseExpression } from './parse-expression.js';

/** A parsed filter of a request. */
export interface Filter<Entity = object> {
  readonly entity: Type<Entity>;
  readonly expression: string;
  /** Undefined for a blank filter, which matches all rows. */
  readonly condition: Condition | undefined;
}

/** The filter fields of an entity. */
export interface FilterDefinition<Entity = object> {
  readonly entity: Type<Entity>;
  readonly fields: FilterFields;
  /** Working filters by description, for the documentation. */
  readonly examples: Readonly<Record<string, string>>;
  /** @throws FilterError with offsets in characters (code points), as in CEL */
  parse(expression: string): Filter<Entity>;
}

const definitions: FilterDefinition[] = [];

export function filterDefinitions(): readonly FilterDefinition[] {
  return definitions;
}

/**
 * Declares the fields by which lists of an entity can be filtered, for `PageQueryOf`.
 *
 * @param entity - TypeORM entity whose `id` is a UUIDv7
 * @param fields - properties with their types (see docs/filtering.md), `nullable` if they can be null, and either the names of their
 *   `indexes` or, as `unindexed`, the reason why reading every row is acceptable. `id`, and a field of type `creationTime` with any other
 *   name, need neither
 * @param examples - working filters by description, for the documentation
 * @throws Error if a field does not fit its column or an example is invalid
 */
export function defineFilter<Entity extends { id: string }, Name extends string>(
  entity: Type<Entity>,
  fields: FieldsOf<Entity, Name>,
  examples: Readonly<Record<string, string>>,
): FilterDefinition<Entity> {
  checkFields(entity, fields);
  const parse = (expression: string): Filter<Entity> => {
    if (isBlank(expression)) {
      return { entity, expression: '', condition: undefined };
    }
    try {
      return { entity, expression, condition: compileExpression(parseExpression(expression), fields) };
    } catch (error) {
      throw error instanceof FilterError ? inCharacters(error, expression) : error;
    }
  };
  Object.values(examples).forEach(parse);
  const definition = { entity, fields, examples, parse };
  definitions.push(definition);
  return definition;
}

export function isBlank(expression: string): boolean {
  return expression.trim() === '';
}

/** Converts offsets from UTF-16 units to code points. */
function inCharacters({ code, start, end, message }: FilterError, expression: string): FilterError {
  const characters = (offset: number) => codePoints(expression.slice(0, offset));
  return new FilterError(code, { start: characters(start), end: characters(end) }, message);
}

/** The Markdown description of the filter parameter. */
export function describeFilter({ fields }: FilterDefinition): string {
  const lines = Object.entries(fields).map(([name, field]) => `- \`${name}\`: ${describeField(field)}`);
  return [
    'Filters the list with a subset of CEL (Common Expression Language, cel.dev). A blank filter matches all rows. Fields:',
    lines.join('\n'),
    'Compare with `==` `!=` `<` `<=` `>` `>=` and `in ["…", "…"]`. Search texts with `.contains("…")`, `.startsWith("…")`, `.endsWith("…")` and, case-insensitive, `.icontains("…")`. Write `.lowerAscii()` before any of these to convert ASCII letters to lower case. Combine conditions with `&&`, `||`, `!` and `( )`. Texts are compared by code point; there are no wildcards.',
    `At most ${MAXIMUM_LENGTH} characters, ${MAXIMUM_CONDITIONS} conditions and ${MAXIMUM_SEARCHES} searches with \`contains\`, \`icontains\` or \`endsWith\`. An invalid filter, or one that takes too long, gets 400 with its position (\`start\`, \`end\`) and the fix. Percent-encode the filter, for example with \`curl -G --data-urlencode\`.`,
  ].join('\n\n');
}

function describeField(field: FilterField): string {
  const { noun, example } = notationOf(field);
  const alone = field.type === 'bool' ? ', or a condition by itself' : '';
  return `${noun}, written \`${example}\`${alone}${field.nullable ? '; `== null` matches rows without it' : ''}`;
}
