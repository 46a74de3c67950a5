import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { SetHandlerMetadata } from '../routes/handler-metadata.js';
import { metadataOf, parametersOf, type Route, RouteParamtypes, hasParameter } from '../routes/route.js';
import { rulesOf } from '../validation/rule.js';

const BODY_PARSER = 'body-parser';

const MEDIA_TYPES = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  text: 'text/plain',
  raw: '*/*',
  multipart: 'multipart/form-data',
};

type BodyParser = keyof typeof MEDIA_TYPES;

/** Options of `@UseBodyParser()`. */
export interface BodyParserOptions {
  /** Maximum size in bytes: 64 KiB by default, and 1 MiB for `multipart`. */
  limit?: number;
  /** Accepted media types, such as `text/csv` or `image/*`. By default that of the parser, and any for `raw`. */
  type?: string | readonly string[];
  /** Maximum names and elements of JSON or of a form, over all levels: by default 400 for each 64 KiB of the limit. */
  maximumMembers?: number;
  /** Class of the elements, if the body is a JSON array. The class must have validation rules. */
  items?: Type<object>;
  /** `false` if the handler takes any JSON or form, and checks it itself. */
  validate?: boolean;
  /** Keeps the bytes in `request.rawBody`, as `NestFactory.create(AppModule, { rawBody: true })` does. */
  rawBody?: boolean;
}

/** The parser of a route's body, and its options with their defaults. */
export type BodyOptions = Readonly<ReturnType<typeof completeOptions>>;

/** Default maximum sizes of bodies in bytes, the second of multipart bodies, which interceptors read. */
export const BODY_LIMIT = 64 * 1024;
const MULTIPART_LIMIT = 1024 * 1024;

/** Completes options. `maximumMembers` is limited because converting and validating each member takes microseconds. */
function completeOptions(parser: BodyParser, options: BodyParserOptions = {}) {
  const { type = MEDIA_TYPES[parser], limit = parser === 'multipart' ? MULTIPART_LIMIT : BODY_LIMIT } = options;
  const { maximumMembers = 400 * Math.max(1, Math.floor(limit / BODY_LIMIT)) } = options;
  return { ...options, parser, mediaTypes: [type].flat(), limit, maximumMembers };
}

/** For routes without declared body. Refusing 400 unknown names takes as long as nine creates (`bench/hostile-input.ts`). */
const DEFAULT_BODY: BodyOptions = completeOptions('json', { maximumMembers: 100 });
const DEFAULT_UPLOAD: BodyOptions = completeOptions('multipart');

/**
 * Lets a route take another body than a JSON object of at most 64 KiB and 100 names and elements. The parsers are those of
 * Nest's `app.useBodyParser()`, and `multipart` for its file interceptors, such as `FileInterceptor`. Other media types get
 * 400, and larger bodies 413. To document another schema, write `@ApiBody` below this decorator.
 *
 * @param parser - decides what `@Body()` is: an object or array for `json`, an object for `urlencoded`, a string for `text`,
 * a `Buffer` for `raw`
 */
export function UseBodyParser(parser: BodyParser, options: BodyParserOptions = {}): MethodDecorator {
  const { items, validate } = options;
  // Whether the body has no class, by which @nestjs/swagger would document it.
  const isOpen = !items && (parser === 'raw' || parser === 'text' || validate === false);
  return applyDecorators(
    SetHandlerMetadata(BODY_PARSER, completeOptions(parser, options), '@UseBodyParser()'),
    ...(isOpen ? [ApiBody({ schema: parser === 'text' ? { type: 'string' } : {} })] : []),
    ...(items ? [ApiBody({ type: [items] })] : []),
  );
}

export function declaredBodyOf(route: Pick<Route, 'controller' | 'handler'>): BodyOptions | undefined {
  return metadataOf(BODY_PARSER, route) as BodyOptions | undefined;
}

/** The options for a body of a route without `@UseBodyParser()`; undefined for media types that are not read. */
export function defaultBodyOptions(mediaType: string): BodyOptions | undefined {
  return mediaType === 'application/json' ? DEFAULT_BODY : mediaType.startsWith('multipart/') ? DEFAULT_UPLOAD : undefined;
}

/** The options of a route with `@UseBodyParser()` or with file parameters; undefined for other routes. */
export function bodyOptionsOf(route: Route): BodyOptions | undefined {
  return declaredBodyOf(route) ?? (takesFiles(route) ? DEFAULT_UPLOAD : undefined);
}

export function takesFiles(route: Pick<Route, 'controller' | 'name'>): boolean {
  return hasParameter(RouteParamtypes.FILE, route) || hasParameter(RouteParamtypes.FILES, route);
}

/** The parameter that takes the whole body. */
export function bodyParameterOf(route: Pick<Route, 'controller' | 'name'>) {
  return parametersOf(route).find(({ kind, data }) => kind === RouteParamtypes.BODY && data === undefined);
}

/** Whether a route may do without a class with rules for its body, because its declaration says how to validate it. */
export function isBodyDeclared(route: Route): boolean {
  const { parser, validate, items } = declaredBodyOf(route) ?? {};
  const { type, hasPipes } = bodyParameterOf(route) ?? {};
  const hasRules = items ? rulesOf(items).length > 0 : parser === 'json' && type === Array && hasPipes === true;
  return hasRules || parser === 'text' || parser === 'raw' || validate === false;
}
