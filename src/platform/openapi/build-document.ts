import type { INestApplication, Type } from '@nestjs/common';
import { DECORATORS, DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ValidationTypes } from 'class-validator';
import { Configuration } from '../config/configuration.js';
import { queryLists } from '../http/read-query.js';
import { FAULT_CODES } from '../problems/problem.js';
import { declaredBodyOf } from '../bodies/use-body-parser.decorator.js';
import { documentedParameters, isObjectOfPart, nameOf, parametersOf, type Route, RouteParamtypes } from '../routes/route.js';
import { codesOf } from '../validation/input-faults.js';
import { chosenClasses, collectRules, isNested, isObject } from '../validation/rule.js';
import { BEARER, describeOperations } from './describe-operations.js';
import { checkClassNames, checkOwnNames, documentRules, schemaNameOf } from './documented-properties.js';
import {
  type DocumentedOperation,
  mediaTypesOf,
  OpenApiDocument,
  operationsOf,
  resolveSchema,
  type Schema,
  type Schemas,
} from './openapi-document.js';
import { tagsOf } from '../routes/api-tag.decorator.js';
import { operationIdOf } from '../routes/operation.js';
import { headers, platformSchemas } from './platform-components.js';
import { standardSchemaConverter } from './standard-schemas.js';

/** The console shows the first section of the Markdown `description` above the operations, the others below them. */
export type ApiDescription = OpenAPIObject['info'] & {
  /** One sentence of plain text. */
  readonly summary: string;
  /** The `identifier` is an SPDX expression. */
  readonly license: { readonly name: string; readonly identifier: string };
  /** By name, schemes beside that of the service, which `@ApiSecurity()` of a public route with its own guard refers to. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
};

type SecurityScheme = Parameters<DocumentBuilder['addSecurity']>[1];

/**
 * Builds the document of an application.
 *
 * @param routes - routes that passed the startup checks
 * @param change - changes the document of @nestjs/swagger, such as `cleanupOpenApiDoc` of nestjs-zod
 */
export function buildDocument(
  app: INestApplication,
  { securitySchemes = {}, ...info }: ApiDescription,
  routes: readonly Route[],
  change = (document: OpenAPIObject) => document,
): void {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .addServer(app.get(Configuration).PUBLIC_URL ?? '/')
    .addSecurity(BEARER, { type: 'http', scheme: 'bearer' })
    .addSecurityRequirements(BEARER);
  Object.entries(securitySchemes).forEach(([name, scheme]) => builder.addSecurity(name, scheme));
  tagsOf(routes).forEach(({ name, description }) => builder.addTag(name, description));
  const base = builder.build();
  // The builder does not know `summary` and `license.identifier`, which are new in OpenAPI 3.1.
  Object.assign(base.info, info);
  const whole = routes.flatMap(parametersOf).filter(({ data, schema }) => (data ?? schema) === undefined);
  const declared = routes.flatMap((route) => declaredBodyOf(route)?.items ?? []);
  const inputs = [...whole.flatMap(({ type }) => type ?? []), ...declared];
  const collected: ReturnType<typeof collectRules> = new Map();
  inputs.forEach((type) => collectRules(type, collected));
  documentRules(collected);
  const extraModels = chosenModels(collected);
  const names = checkClassNames([...routes.flatMap(modelsOf), ...extraModels]);
  const ids = new Map(routes.map((route) => [nameOf(route), operationIdOf(route)]));
  // If a handler has several paths, @nestjs/swagger appends a number in brackets to the method.
  const operationIdFactory = (controller: string, method: string) =>
    ids.get(`${controller}.${method.replace(/\[\d+\]$/, '')}`) ?? method;
  nameHandlers(routes);
  routes.forEach(documentKeys);
  const options = { operationIdFactory, extraModels, standardSchemaConverter: standardSchemaConverter(routes, names) };
  const document = change(SwaggerModule.createDocument(app, base, options));
  const own = platformSchemas(faultCodes(collected));
  checkOwnNames(Object.keys(own), document.components?.schemas ?? {});
  document.components = { ...document.components, schemas: { ...document.components?.schemas, ...own }, headers };
  const calls = describeOperations(document, routes);
  completeBodies(document, collected);
  calls.forEach(({ operation }, handler) => queryLists.set(handler, new Set(listsOf(operation))));
  app.get(OpenApiDocument).set(document, calls);
}

/** The codes of the platform's faults, and of the rules of inputs. */
function faultCodes(inputs: ReturnType<typeof collectRules>): string[] {
  const rules = [...inputs.values()].flat().filter(({ type }) => type === ValidationTypes.CUSTOM_VALIDATION);
  return [...new Set([...Object.keys(FAULT_CODES), ...rules.flatMap(codesOf)])].toSorted();
}

/** The classes that discriminators choose, which @nestjs/swagger does not find. */
function chosenModels(inputs: ReturnType<typeof collectRules>): Type<object>[] {
  return [...inputs].flatMap(([type, rules]) =>
    rules.filter(isNested).flatMap(({ propertyName }) => chosenClasses(type, propertyName)),
  );
}

/** Query parameters that are arrays, except those whose elements are one text, with `explode: false`. */
function listsOf({ parameters = [] }: DocumentedOperation): string[] {
  const queries = parameters.filter(({ in: place, explode }) => place === 'query' && explode !== false);
  return queries.flatMap(({ name, schema = {} }) => ('items' in schema ? name : []));
}

/** Gives handlers that decorators have wrapped the name of their method: @nestjs/swagger makes operation ids of names. */
function nameHandlers(routes: readonly Route[]): void {
  for (const { handler, name } of routes) {
    Object.defineProperty(handler, 'name', { value: name });
  }
}

/**
 * Documents a part of the path or query of which a pipe makes an object as the text that it is. Otherwise, @nestjs/swagger
 * documents the object's class, in place of another class of its name.
 */
function documentKeys(route: Route): void {
  const { PARAM, QUERY } = RouteParamtypes;
  const keys = parametersOf(route).filter((each) => isObjectOfPart(each) && [PARAM, QUERY].includes(each.kind));
  for (const { kind, data: name } of keys) {
    const place = kind === PARAM ? 'path' : 'query';
    const documented = documentedParameters(route.handler);
    const key = { name, in: place, type: String, ...documented.find((each) => each.name === name && each.in === place) };
    // @nestjs/swagger takes the first one of a name.
    Reflect.defineMetadata(DECORATORS.API_PARAMETERS, [key, ...documented], route.handler);
  }
}

/** The types of a route that @nestjs/swagger documents by name: of bodies and parameters, and further models. */
function modelsOf(route: Route): unknown[] {
  const bodies = parametersOf(route).filter(({ kind, data, schema }) => kind === RouteParamtypes.BODY && !(data ?? schema));
  const declared = [route.handler, route.controller].flatMap((target) => {
    const read = (key: string): unknown => Reflect.getMetadata(key, target);
    const responses = Object.values((read(DECORATORS.API_RESPONSE) ?? {}) as Record<string, { type?: unknown }>);
    return [...responses, ...documentedParameters(target)]
      .map(({ type }) => type)
      .concat(read(DECORATORS.API_EXTRA_MODELS) ?? []);
  });
  return [...bodies.map(({ type }) => type), ...declared];
}

/** Closes classes of inputs, because validation rejects unknown properties. Makes examples of bodies from their parts. */
function completeBodies(document: OpenAPIObject, inputs: ReadonlyMap<Type<object>, readonly unknown[]>): void {
  const schemas = document.components?.schemas ?? {};
  const operations = operationsOf(document).map(({ operation }) => operation);
  for (const [type, rules] of inputs) {
    const schema = resolveSchema({ $ref: schemaNameOf(type) }, schemas);
    Object.assign(schema, rules.length > 0 && 'properties' in schema && { additionalProperties: false });
  }
  for (const { requestBody, responses } of operations) {
    for (const media of [requestBody, ...Object.values(responses)].flatMap(mediaTypesOf)) {
      const example: unknown = media.examples ? undefined : (media.example ?? exampleOf(media.schema, schemas));
      Object.assign(media, example !== undefined && { example });
    }
  }
}

/**
 * An example with a value for each required property; undefined if a required property has no example.
 *
 * @param above - schemas that contain this one, to stop at recursive classes
 */
function exampleOf(reference: Schema | undefined, schemas: Schemas, above: readonly unknown[] = []): unknown {
  const schema = resolveSchema(reference, schemas);
  const partExample = (part: Schema) => exampleOf(part, schemas, [...above, schema]);
  const { allOf = [], items, minItems = 0, properties = {}, required = [] } = schema;
  const value: unknown = schema.example === undefined ? schema.enum?.[0] : schema.example;
  if (value !== undefined || above.includes(schema)) {
    return value;
  }
  if (items) {
    const element = partExample(items);
    return element === undefined || minItems > 1 ? undefined : [element];
  }
  const parts = allOf.map(partExample);
  if (parts.length === 1 && !schema.properties) {
    return parts[0];
  }
  const known = Object.entries(properties).map(([name, property]) => [name, partExample(property)] as const);
  const own = Object.fromEntries(known.filter(([, part]) => part !== undefined));
  const example = Object.assign({}, ...parts, own) as object;
  const isComplete = parts.every(isObject) && required.every((name) => Object.hasOwn(example, name));
  return isComplete && Object.keys(example).length > 0 ? example : undefined;
}
