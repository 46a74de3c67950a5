import { annotate } from '../routes/route.js';

/** Metadata key of {@link AnyQuery}. */
export const ANY_QUERY = 'any-query';

/** For routes that ignore their query: unknown parameters are accepted, where other routes refuse them. */
export function AnyQuery(): ClassDecorator & MethodDecorator {
  return annotate(ANY_QUERY, true);
}
