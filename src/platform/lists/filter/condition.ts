import type { FieldType } from './filter-fields.js';

/** What a value is compared with: a field's column, as it is or with its ASCII letters in lower case. */
export interface Operand {
  /** Property of the entity. */
  readonly field: string;
  readonly type: Exclude<FieldType, 'creationTime'>;
  /** Whether rows may lack it. */
  readonly nullable: boolean;
  readonly lowerAscii: boolean;
}

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';
export type TextSearch = 'contains' | 'startsWith' | 'endsWith' | 'icontains';

/**
 * A filter whose names and types are checked. It is true, false or an error for a row, as CEL defines it. Values are as
 * PostgreSQL reads them.
 */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'constant'; readonly value: boolean }
  | { readonly kind: 'truth'; readonly operand: Operand }
  | { readonly kind: 'comparison'; readonly operand: Operand; readonly operator: Comparison; readonly value: string }
  | { readonly kind: 'membership'; readonly operand: Operand; readonly values: readonly string[] }
  | { readonly kind: 'absence'; readonly operand: Operand }
  | { readonly kind: 'search'; readonly operand: Operand; readonly search: TextSearch; readonly text: string };

/** The parts that must all be true. */
export function conjuncts(condition: Condition): readonly Condition[] {
  return condition.kind === 'and' ? condition.conditions.flatMap(conjuncts) : [condition];
}

/** A comparison of the key of an entity, its `id`. */
export function keyComparison(operator: Comparison, value: string): Condition {
  return { kind: 'comparison', operand: { field: 'id', type: 'uuid', nullable: false, lowerAscii: false }, operator, value };
}

/** Whether it is one range of the key, or some keys, which an index in the order of the key finds at once. */
export function boundsKey(condition: Condition): boolean {
  switch (condition.kind) {
    case 'comparison':
      return condition.operand.field === 'id' && condition.operator !== '!=';
    case 'membership':
      return condition.operand.field === 'id';
    default:
      return false;
  }
}
