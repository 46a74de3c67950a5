import type { Type } from '@nestjs/common';
import { getMetadataArgsStorage } from 'typeorm';
import { columnOptionsOf, appliesTo } from '../list-options.js';
import { compileExpression, MAXIMUM_CONDITIONS, MAXIMUM_SEARCHES } from './compile-expression.js';
import type { Condition } from './condition.js';
import { type FieldsOf, type FilterField, type FilterFields, notationOf, TYPES } from './filter-fields.js';
import { MAXIMUM_LENGTH, parseExpression } from './parse-expression.js';

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
  /** @throws FilterError with offsets in UTF-16 units */
  parse(expression: string): Filter<Entity>;
}

export const filters: FilterDefinition[] = [];

/**
 * Declares the fields by which lists of an entity can be filtered, for `PageQueryOf`.
 *
 * @param entity - TypeORM entity whose `id` is a UUIDv7
 * @param fields - properties with their types (see docs/reference.md#filter-fields), `nullable` if they can be null, and
 *   either the names of their `indexes` or, as `unindexed`, the reason why reading every row is acceptable. `id`, and a
 *   field of type `creationTime` with any other name, need neither
 * @param examples - working filters by description, for the documentation
 * @throws Error if a field does not fit its column or an example is invalid
 */
export function defineFilter<Entity extends { id: string }, Name extends string>(
  entity: Type<Entity>,
  fields: FieldsOf<Entity, Name>,
  examples: Readonly<Record<string, string>>,
): FilterDefinition<Entity> {
  checkFields(entity, fields);
  const parse = (expression: string): Filter<Entity> =>
    isBlank(expression)
      ? { entity, expression: '', condition: undefined }
      : { entity, expression, condition: compileExpression(parseExpression(expression), fields) };
  Object.values(examples).forEach(parse);
  const definition = { entity, fields, examples, parse };
  filters.push(definition);
  return definition;
}

/** Checks that the columns of an entity fit the fields, which the types of `FieldsOf` cannot. @throws Error with the fix */
function checkFields(entity: Type, fields: FilterFields): void {
  if (getMetadataArgsStorage().inheritances.some(({ target }) => appliesTo(entity, target))) {
    throw new Error(`${entity.name} shares its table with other entities: use an entity with its own table.`);
  }
  for (const [name, { type, nullable = false }] of Object.entries(fields)) {
    if (type === 'creationTime') {
      continue;
    }
    const column = columnOptionsOf(entity, name);
    const types: readonly unknown[] = TYPES[type].columns;
    if (!column || !types.includes(column.type) || column.transformer || column.array) {
      throw new Error(
        `${entity.name}.${name} cannot be a filter field: ${type} needs a column of type ${TYPES[type].columns[0]}, ` +
          'without transformer or array. See docs/reference.md#filter-fields.',
      );
    }
    if ((column.nullable ?? false) !== nullable) {
      throw new Error(
        `${entity.name}.${name} and its column disagree on null: make the entity, its column and the filter agree.`,
      );
    }
  }
}

export function isBlank(expression: string): boolean {
  return expression.trim() === '';
}

/** The Markdown description of the filter parameter. */
export function describeFilter({ fields }: FilterDefinition): string {
  const lines = Object.entries(fields).map(([name, field]) => `- \`${name}\`: ${describeField(name, field)}`);
  const [absent] = Object.entries(fields).find(([, { type, nullable }]) => type === 'string' && nullable) ?? [];
  return [
    'Which rows to list, in a subset of CEL (Common Expression Language, cel.dev). Blank means all. Fields:',
    lines.join('\n'),
    'Compare with `==` `!=` `<` `<=` `>` `>=` and `in ["…", "…"]`. Search text with `.contains("…")`, ' +
      '`.startsWith("…")`, `.endsWith("…")` and, case-insensitive, `.icontains("…")`. A text with `.lowerAscii()` is ' +
      'in lower case: compare it with such a value. Combine with `&&`, `||`, `!` and `( )`. Text is compared by code ' +
      'point; there are no wildcards.',
    absent === undefined
      ? []
      : `Where \`${absent}\` is null, \`${absent}.contains("…")\` is neither true nor false, and so is ` +
        `\`!${absent}.contains("…")\`: to list these rows too, write \`${absent} == null || !${absent}.contains("…")\`.`,
    `At most ${MAXIMUM_LENGTH} characters, ${MAXIMUM_CONDITIONS} conditions and ${MAXIMUM_SEARCHES} searches with ` +
      `\`contains\`, \`icontains\` or \`endsWith\`. An invalid or too slow filter gets 400, with the position of the ` +
      `error (\`start\`, \`end\`) and its fix. Percent-encode the filter: \`curl -G --data-urlencode\` does.`,
  ]
    .flat()
    .join('\n\n');
}

function describeField(name: string, field: FilterField): string {
  const { noun, example } = notationOf(field);
  const alone = field.type === 'bool' ? '; also a condition by itself' : '';
  // The type of `id` is documented in the response.
  return `${name === 'id' ? '' : `${noun}, `}written \`${example}\`${field.nullable ? ' or `null`' : ''}${alone}`;
}
