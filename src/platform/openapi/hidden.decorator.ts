import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { metadataOf, type Route } from '../routes/route.js';

/** Metadata key of {@link Hidden}. */
export const HIDDEN = 'hidden';

/** A controller for operators and browsers, which the OpenAPI document leaves out. It may be called with any query. */
export function Hidden(): ClassDecorator {
  return applyDecorators(ApiExcludeController(), SetMetadata(HIDDEN, true));
}

/** Whether a route is of a {@link Hidden} controller. */
export function isHidden(route: Pick<Route, 'controller' | 'handler'>): boolean {
  return metadataOf(HIDDEN, route) === true;
}
