import { applyDecorators, UsePipes } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { SetHandlerMetadata } from '../routes/handler-metadata.js';
import { metadataOf, parametersOf, type Route, RouteParamtypes, hasParameter } from '../routes/route.js';
import { ItemsPipe } from '../validation/items.pipe.js';
import { rulesOf } from '../validation/rule.js';
import { type BodyParser, type BodyParserOptions, type BodyRules, rulesFor } from './read-body.js';

const BODY_PARSER = 'body-parser';

/**
 * Lets a route take another body than a JSON object of at most 64 KiB and 100 names and elements. The parsers are those of
 * Nest's `app.useBodyParser()`, and `multipart` for its file interceptors, such as `FileInterceptor`. Other media types are
 * a 400, and larger bodies a 413. An `@ApiBody` below it documents another schema.
 *
 * @param parser - `@Body()` is then an object or array for `json`, an object for `urlencoded`, a string for `text`, a
 * `Buffer` for `raw`
 */
export function UseBodyParser(parser: BodyParser, options: BodyParserOptions = {}): MethodDecorator {
  const { items, validate } = options;
  // Otherwise the class of `@Body()` documents it.
  const isOpen = !items && (parser === 'raw' || parser === 'text' || validate === false);
  return applyDecorators(
    SetHandlerMetadata(BODY_PARSER, rulesFor(parser, options), '@UseBodyParser()'),
    ...(isOpen ? [ApiBody({ schema: parser === 'text' ? { type: 'string' } : {} })] : []),
    ...(items ? [ApiBody({ type: [items] }), UsePipes(new ItemsPipe(items))] : []),
  );
}

export function declaredBodyOf(route: Pick<Route, 'controller' | 'handler'>): BodyRules | undefined {
  return metadataOf(BODY_PARSER, route) as BodyRules | undefined;
}

/** How a route takes a body that is declared or has files. */
export function bodyRulesOf(route: Route): BodyRules | undefined {
  return declaredBodyOf(route) ?? (takesFiles(route) ? rulesFor('multipart') : undefined);
}

export function takesFiles(route: Pick<Route, 'controller' | 'name'>): boolean {
  return hasParameter(RouteParamtypes.FILE, route) || hasParameter(RouteParamtypes.FILES, route);
}

/** The parameter that takes the whole body. */
export function bodyParameterOf(route: Pick<Route, 'controller' | 'name'>) {
  return parametersOf(route).find(({ kind, data }) => kind === RouteParamtypes.BODY && data === undefined);
}

/** Whether the body of a route needs no class with rules, because of what the route declares. */
export function isBodyDeclared(route: Route): boolean {
  const { parser, validate, items } = declaredBodyOf(route) ?? {};
  const { type, hasPipes } = bodyParameterOf(route) ?? {};
  const hasRules = items ? rulesOf(items).length > 0 : parser === 'json' && type === Array && hasPipes === true;
  return hasRules || parser === 'text' || parser === 'raw' || validate === false;
}
