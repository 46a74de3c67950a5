import { type CustomDecorator, SetMetadata } from '@nestjs/common';

/** Metadata key of {@link AnyQuery}. */
export const ANY_QUERY = 'any-query';

/** For routes whose query nobody reads: whatever it holds is let through, where other routes refuse what they do not know. */
export function AnyQuery(): CustomDecorator {
  return SetMetadata(ANY_QUERY, true);
}
