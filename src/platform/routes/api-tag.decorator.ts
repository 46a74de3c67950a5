import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { metadataOf, type Route } from './route.js';

/** A tag of the OpenAPI document, under which the console groups operations. */
export interface ApiTagOptions {
  /** One or two words: `Widgets`. */
  name: string;
  /** Explains these operations to new readers, in Markdown. */
  description: string;
}

const TAG = 'tag';

/**
 * `@ApiTags(name)` of @nestjs/swagger with a description: the tag of all operations of a controller. To share a tag, pass
 * the same object to several controllers.
 */
export function ApiTag(options: ApiTagOptions): ClassDecorator {
  return applyDecorators(SetMetadata(TAG, options), ApiTags(options.name));
}

/** The tags of all documented routes, in their order. */
export function tagsOf(routes: readonly Route[]): ApiTagOptions[] {
  const tags = routes.flatMap((route) => (metadataOf(TAG, route) as ApiTagOptions | undefined) ?? []);
  return [...new Map(tags.map((tag) => [tag.name, tag])).values()];
}
