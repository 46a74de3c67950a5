import type { Type } from '@nestjs/common';
import { codePoints } from '../../validation/code-points.js';
import { checkFields } from '../filter-columns.js';
import { compileExpression, MAXIMUM_CONDITIONS, MAXIMUM_SEARCHES } from './compile-expression.js';
import type { Condition } from './condition.js';
import { type FieldsOf, type FilterField, type FilterFields, notationOf } from './filter-fields.js';
import { FilterError, MAXIMUM_LENGTH, parseExpression } from './parse-expression.js';

/** A filter that a client sent. */
export interface Filter<Entity = object> {
  readonly entity: Type<Entity>;
  readonly expression: string;
  /** What it says; undefined for a blank one, which lets everything through. */
  readonly condition: Condition | undefined;
}

/** The fields by which lists of an entity can be filtered. */
export interface FilterDefinition<Entity = object> {
  readonly entity: Type<Entity>;
  readonly fields: FilterFields;
  /** Filters that work, by what they do; for the documentation. */
  readonly examples: Readonly<Record<string, string>>;
  /** @throws FilterError, whose offsets count characters (code points), as CEL's do */
  parse(expression: string): Filter<Entity>;
}

const definitions: FilterDefinition[] = [];

/** Every filter that was defined. */
export function filterDefinitions(): readonly FilterDefinition[] {
  return definitions;
}

/**
 * Declares by which fields lists of an entity can be filtered. Give it to `PageQueryOf`.
 *
 * @param entity - TypeORM entity whose `id` is a UUIDv7
 * @param fields - by name: properties of the entity with their types (see docs/filtering.md), `nullable` where they can be null,
 * and either `indexes`, the names of those that find rows by it, or `unindexed`, the reason why reading every row is
 * acceptable; and `creationTime` under any other name, which needs neither, as `id` does not
 * @param examples - filters for the documentation, by what they do
 * @throws Error when a field does not fit its column, or when an example is refused
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

/** A blank filter is none. */
export function isBlank(expression: string): boolean {
  return expression.trim() === '';
}

/** The same error with offsets that count code points instead of UTF-16 units. */
function inCharacters({ code, start, end, message }: FilterError, expression: string): FilterError {
  const characters = (offset: number) => codePoints(expression.slice(0, offset));
  return new FilterError(code, { start: characters(start), end: characters(end) }, message);
}

/** The filter in short, in Markdown, for the description of its parameter. */
export function describeFilter({ fields }: FilterDefinition): string {
  const lines = Object.entries(fields).map(([name, field]) => `- \`${name}\`: ${describeField(field)}`);
  return [
    'Which rows to list, in a subset of CEL (Common Expression Language, cel.dev). Blank is no filter. Fields:',
    lines.join('\n'),
    'Compare with `==` `!=` `<` `<=` `>` `>=` and `in ["…", "…"]`; search texts with `.contains("…")`, `.startsWith("…")`, `.endsWith("…")` and, ignoring case, `.icontains("…")`; put `.lowerAscii()` before any of these to compare in lower case; join with `&&`, `||`, `!` and `( )`. Text is compared by code point, and no character in it is a wildcard.',
    `At most ${MAXIMUM_LENGTH} characters, ${MAXIMUM_CONDITIONS} conditions and ${MAXIMUM_SEARCHES} searches with \`contains\`, \`icontains\` or \`endsWith\`. A filter that is refused, or that takes too long, is answered 400, with the place (\`start\`, \`end\`) and how to fix it. Percent-encode it: \`curl -G --data-urlencode\` does.`,
  ].join('\n\n');
}

function describeField(field: FilterField): string {
  const { noun, example } = notationOf(field);
  const alone = field.type === 'bool' ? ', or a condition by itself' : '';
  return `${noun}, written \`${example}\`${alone}${field.nullable ? '; absent where `== null`' : ''}`;
}
