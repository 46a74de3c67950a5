import { applyDecorators, SetMetadata, type Type, UsePipes } from '@nestjs/common';
import { ApiBody, type ApiBodyOptions } from '@nestjs/swagger';
import { metadataOf, parametersOf, type Route, RouteParamtypes, takes } from '../routes/route.js';
import { ItemsPipe } from '../validation/request-validation.pipe.js';
import { rulesOf } from '../validation/rule.js';
import { type BodyParser, type BodyRules, rulesFor } from './read-body.js';

export interface BodyParserOptions {
  /** Maximum size in bytes: 64 KiB by default, and 1 MiB for `multipart`. */
  limit?: number;
  /** Media types, such as `text/csv` or `image/*`. By default those of the parser, and any for `raw`. */
  type?: string | readonly string[];
  /** Maximum names and elements of JSON or of a form, over all levels: 400 for each 64 KiB of the limit by default. */
  maximumMembers?: number;
  /** Class of the elements of a JSON array, with rules. */
  items?: Type<object>;
  /** `false` if the handler takes any JSON or form, and checks it itself. */
  validate?: boolean;
  /** Keeps the bytes in `request.rawBody`, as `NestFactory.create(AppModule, { rawBody: true })` does. */
  rawBody?: boolean;
}

type Declaration = BodyRules & Pick<BodyParserOptions, 'items' | 'validate'>;

const BODY_PARSER = 'body-parser';

/**
 * Lets a route take another body than a JSON object of at most 64 KiB. The parsers are those of Nest's `app.useBodyParser()`, and
 * `multipart` for its file interceptors, such as `FileInterceptor`. Other media types are a 400, and larger bodies a 413. An `@ApiBody`
 * below it documents another schema.
 *
 * @param parser - `@Body()` is then an object or array for `json`, an object for `urlencoded`, a string for `text`, a `Buffer` for `raw`
 */
export function UseBodyParser(parser: BodyParser, options: BodyParserOptions = {}): MethodDecorator {
  const { items } = options;
  const rules: Declaration = { ...options, ...rulesFor(parser, options) };
  const documented = documentedBodyOf(rules);
  return applyDecorators(
    SetMetadata(BODY_PARSER, rules),
    ...(documented ? [ApiBody(documented)] : []),
    ...(items ? [UsePipes(new ItemsPipe(items))] : []),
  );
}

/** Undefined if the class of `@Body()` documents it. */
function documentedBodyOf({ parser, items, validate }: Declaration): ApiBodyOptions | undefined {
  if (items) {
    return { type: [items] };
  }
  const isOpen = parser === 'raw' || parser === 'text' || validate === false;
  return isOpen ? { schema: parser === 'text' ? { type: 'string' } : {} } : undefined;
}

export function declaredBodyOf(route: Pick<Route, 'controller' | 'handler'>): Declaration | undefined {
  return metadataOf(BODY_PARSER, route) as Declaration | undefined;
}

/** How a route takes a body that is declared or has files. */
export function bodyRulesOf(route: Route): BodyRules | undefined {
  const takesFiles = takes(RouteParamtypes.FILE, route) || takes(RouteParamtypes.FILES, route);
  return declaredBodyOf(route) ?? (takesFiles ? rulesFor('multipart') : undefined);
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
