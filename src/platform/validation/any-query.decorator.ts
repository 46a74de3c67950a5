import { annotate } from '../routes/route.js';

/** Metadata key of {@link AnyQuery}. */
export const ANY_QUERY = 'any-query';

/** For routes whose query nobody reads: whatever it holds is let through, where other routes refuse what they do not know. */
export function AnyQuery(): ClassDecorator & MethodDecorator {
  return annotate(ANY_QUERY, true);
}
