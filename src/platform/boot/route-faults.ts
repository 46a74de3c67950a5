import { PATH_METADATA, RESPONSE_PASSTHROUGH_METADATA } from '@nestjs/common/constants.js';
import type { Type } from '@nestjs/common';
import { getMetadataArgsStorage } from 'typeorm';
import { isOf } from '../database/table-name.js';
import { classOf, documentedProperties } from '../openapi/documented-properties.js';
import { isHidden } from '../openapi/hidden.decorator.js';
import { operationIdOf, operationOf } from '../openapi/operation.decorator.js';
import { nameOf, parametersOf, type Route, RouteParamtypes, takes } from '../routes/route.js';
import { rulesOf } from '../validation/rule.js';

/** What is wrong with the way in which a handler responds: one that forgets it never ends. */
export function responseFaults(route: Route): string[] {
  const passesOn = Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, route.controller, route.name) === true;
  return (takes(RouteParamtypes.RESPONSE, route) && !passesOn) || takes(RouteParamtypes.NEXT, route)
    ? [`${nameOf(route)} responds by itself: return the body, and set headers with @Res({ passthrough: true }).`]
    : [];
}

/** Path parameters that the class of `@Param()` does not have: every call of such a route would be refused. */
export function pathFaults(route: Route): string[] {
  const paths = [route.controller, route.handler].flatMap(
    (target) => Reflect.getMetadata(PATH_METADATA, target) as string | string[],
  );
  const inPath = paths.flatMap((path) => [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => name));
  return parametersOf(route).flatMap(({ kind, data, type }) => {
    const names = new Set(type && checksOf(type).map(({ propertyName }) => propertyName));
    const unknown =
      kind === RouteParamtypes.PARAM && data === undefined && names.size > 0 ? inPath.filter((name) => !names.has(name)) : [];
    return unknown.map(
      (name) => `${nameOf(route)} does not take the path parameter ${name}: declare it in the class of @Param().`,
    );
  });
}

/** Bodies, queries and paths whose class has no rules: they would let anything through. */
export function inputFaults(route: Route): string[] {
  const inputs = parametersOf(route).filter(
    ({ kind, data }) =>
      typeof data !== 'string' && [RouteParamtypes.BODY, RouteParamtypes.QUERY, RouteParamtypes.PARAM].includes(kind),
  );
  return inputs.flatMap(({ type = Object }) => classFaults(type, nameOf(route)));
}

/** @param above - classes that contain this one: a class that contains itself has no end */
function classFaults(type: Type<object>, place: string, above: readonly Type[] = []): string[] {
  const rules = checksOf(type);
  if (rules.length === 0) {
    const remedy = 'declare it whole, as a class with decorated properties, and import that class without "type".';
    return [`${place} takes an input without validation rules: ${remedy}`];
  }
  const documented = documentedProperties(type);
  return Object.entries(documented).flatMap(([name, property]) => {
    const ofProperty = rules.filter(({ propertyName }) => propertyName === name);
    if (ofProperty.length === 0) {
      return [`${type.name}.${name} is documented and has no rule: use a rule that documents itself, such as @Text, or add one.`];
    }
    const inner = classOf(property);
    if (!inner || above.includes(inner)) {
      return [];
    }
    return ofProperty.some((rule) => rule.type === 'nestedValidation')
      ? classFaults(inner, `${type.name}.${name}`, [...above, type, inner])
      : [`${type.name}.${name} takes ${inner.name} without checking it: add @ValidateNested() and @Type(() => ${inner.name}).`];
  });
}

/** Kinds of metadata that are no rules: they say when others hold, or that a name is known. */
const NO_RULES: ReadonlySet<string | undefined> = new Set(['conditionalValidation', 'whitelistValidation']);

function checksOf(type: Type<object>) {
  return rulesOf(type).filter((rule) => !NO_RULES.has(rule.type));
}

/** Classes of responses that the document says nothing of, or not all: columns of an entity that clients would see. */
export function answerFaults(route: Route): string[] {
  const { answer } = operationOf(route) ?? {};
  if (!answer) {
    return [];
  }
  const documented = documentedProperties(answer);
  const columns = getMetadataArgsStorage().columns.filter(({ target }) => isOf(answer, target));
  const hidden = columns.map(({ propertyName }) => propertyName).filter((name) => !Object.hasOwn(documented, name));
  return Object.keys(documented).length === 0
    ? [`${nameOf(route)} responds with ${answer.name}, which documents no property: add @ApiProperty().`]
    : hidden.map(
        (name) => `${answer.name}.${name} is part of a response and not documented: add @ApiProperty(), or respond with a DTO.`,
      );
}

/**
 * Routes whose paths are equal but for the names of their parameters: only the first would be called.
 *
 * @param paths - of all routes, each with its method, as `GET /v1/items/:id`
 */
export function pathFaultsOf(paths: readonly string[]): string[] {
  const alike = Map.groupBy(paths, (path) => path.replaceAll(/:\w+/g, ':'));
  return [...alike.values()]
    .filter(({ length }) => length > 1)
    .map((equal) => `Several routes are ${[...new Set(equal)].join(' and ')}: give one of them another path.`);
}

/** Routes that share an operation id. */
export function operationIdFaults(routes: readonly Route[]): string[] {
  const byId = Map.groupBy(
    routes.filter((route) => !isHidden(route)),
    operationIdOf,
  );
  return [...byId]
    .filter(([, { length }]) => length > 1)
    .map(([id, repeated]) => {
      const names = repeated.map(nameOf).toSorted();
      return new Set(repeated.map(({ controller }) => controller)).size === 1 && new Set(names).size === 1
        ? `The controller of ${names[0]} is part of two modules: leave it to one.`
        : `Two routes are named ${id}, ${names.join(' and ')}: give one handler another name, it is the operation's id.`;
    });
}
