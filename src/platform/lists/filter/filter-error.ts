/** What is wrong with a filter expression; stable within `/v1`. */
export type FilterErrorCode = 'syntax' | 'limit' | 'unknown_field' | 'type' | 'value' | 'unsupported';

/** A part of the expression: zero-based offsets, the end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A filter expression is refused; the message says how to fix it, to be read after the word "filter". */
export class FilterError extends Error implements Span {
  override readonly name = 'FilterError';
  readonly start: number;
  readonly end: number;

  constructor(
    readonly code: FilterErrorCode,
    { start, end }: Span,
    message: string,
  ) {
    super(message);
    this.start = start;
    this.end = end;
  }
}
