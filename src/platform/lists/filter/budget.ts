import { FilterError, type Span } from './filter-error.js';

/** Comparisons, lists and searches of one expression, at most. */
export const MAXIMUM_CONDITIONS = 32;

/** Searches that can match anywhere in a text, at most: every one reads whole texts. */
export const MAXIMUM_SEARCHES = 4;

/** What one expression has used up of what it may cost. */
export class Budget {
  private conditions = 0;
  private searches = 0;

  /** @throws FilterError with code `limit` */
  takeCondition(node: Span): void {
    this.conditions += 1;
    if (this.conditions > MAXIMUM_CONDITIONS) {
      throw new FilterError('limit', node, `has more than ${MAXIMUM_CONDITIONS} conditions: use \`in\`, or several requests`);
    }
  }

  /** @throws FilterError with code `limit` */
  takeSearch(node: Span): void {
    this.searches += 1;
    if (this.searches > MAXIMUM_SEARCHES) {
      throw new FilterError(
        'limit',
        node,
        `searches texts more than ${MAXIMUM_SEARCHES} times: use \`startsWith\` or \`==\`, or fewer searches`,
      );
    }
  }
}
