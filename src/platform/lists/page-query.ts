import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { DecimalInteger } from '../validation/decimal-integer.decorator.js';
import { RefusedValue } from '../validation/parsed.decorator.js';
import { Rule } from '../validation/rule.js';
import { CURSOR_MAXIMUM_LENGTH, decodeCursor } from './cursor.js';
import type { Filter } from './filter/define-filter.js';

const LIMIT_DEFAULT = 20;
const LIMIT_MAXIMUM = 100;

/** Query parameters of the lists of any entity. Those of a list that can be filtered are a `PageQueryOf` its filter. */
export class PageQuery<Entity = never> {
  /** Items on a page, at most. */
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: LIMIT_MAXIMUM,
    default: LIMIT_DEFAULT,
    description: 'Maximum number of results.',
  })
  @DecimalInteger(1, LIMIT_MAXIMUM)
  readonly limit: number = LIMIT_DEFAULT;

  /** Where the page begins; see {@link PageQuery.after}. */
  @ApiPropertyOptional({
    type: String,
    maxLength: CURSOR_MAXIMUM_LENGTH,
    description:
      'Pagination cursor: the `nextCursor` of the page before, unchanged and with the same `filter`. It is opaque, never expires and grants nothing; `limit` may change between pages.',
  })
  @IsOptional()
  @Rule('cursor', 'must be the nextCursor of a list with the same filter, unchanged', isCursor)
  readonly cursor?: string;

  /** What the rows of the list have in common; undefined for all rows. */
  get filtered(): Filter<Entity> | undefined {
    return undefined;
  }

  /** The filter as the client wrote it, which the cursors of the list belong to; empty for none. */
  get filterExpression(): string {
    return this.filtered?.expression ?? '';
  }

  /** Key of the row after which the page begins; undefined for the first page. */
  get after(): string | undefined {
    return this.cursor === undefined ? undefined : positionOf(this.cursor, this);
  }
}

/** Whether it is one cannot be told while the filter, which it depends on, is itself at fault. */
function isCursor(value: unknown, query: object): boolean {
  if ('filter' in query && query.filter instanceof RefusedValue) {
    return true;
  }
  return typeof value === 'string' && positionOf(value, query as PageQuery) !== undefined;
}

/** What cursors say, so that each is decoded once. */
const positions = new WeakMap<object, { readonly cursor: string; readonly key: string | undefined }>();

function positionOf(cursor: string, query: Pick<PageQuery<unknown>, 'filterExpression'>): string | undefined {
  const known = positions.get(query);
  if (known?.cursor === cursor) {
    return known.key;
  }
  const key = decodeCursor(cursor, query.filterExpression);
  positions.set(query, { cursor, key });
  return key;
}
