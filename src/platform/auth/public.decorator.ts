import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';

/** Metadata key of {@link Public}. */
export const PUBLIC = 'public';

/** The same in the OpenAPI document. */
export const PUBLIC_EXTENSION = 'x-public';

/** Opens a controller or a route to everybody: no token, and therefore no rate limit. Everything else needs a token. */
export function Public(): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(PUBLIC, true), ApiExtension(PUBLIC_EXTENSION, true));
}
