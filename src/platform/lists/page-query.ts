import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { DecimalInteger } from '../validation/decimal-integer.decorator.js';
import { Rule } from '../validation/rule.js';
import { CURSOR_MAXIMUM_LENGTH, decodeCursor } from './cursor.js';

const LIMIT_DEFAULT = 20;
const LIMIT_MAXIMUM = 100;

/** Query parameters of every list. */
export class PageQuery {
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

  /** As the client wrote it; see {@link PageQuery.filterExpression}. */
  @ApiPropertyOptional({ type: String, description: 'Filter expression. Not supported yet: leave it out or blank.' })
  @IsOptional()
  @Rule('unsupported', 'is not supported yet: leave it out', (value) => typeof value === 'string' && value.trim() === '')
  readonly filter?: string;

  /** Key of the row after which the page begins; undefined for the first page. */
  get after(): string | undefined {
    return this.cursor === undefined ? undefined : decodeCursor(this.cursor, this.filterExpression);
  }

  /** The filter expression; blank is none, which is the empty text. */
  get filterExpression(): string {
    return this.filter?.trim() ? this.filter : '';
  }
}

function isCursor(value: unknown, query: object): boolean {
  return typeof value === 'string' && decodeCursor(value, (query as PageQuery).filterExpression) !== undefined;
}
