import { type CustomDecorator, SetMetadata } from '@nestjs/common';

/** Metadata key of {@link Public}. */
export const PUBLIC = 'public';

/** Opens a controller or a route to everybody: no token, and therefore no rate limit. Everything else needs a token. */
export function Public(): CustomDecorator {
  return SetMetadata(PUBLIC, true);
}
