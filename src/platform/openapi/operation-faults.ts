import { nameOf, type Route } from '../routes/route.js';
import { operationOf } from './operation.decorator.js';

/** A route of the API that says nothing of its answers. */
export function operationFaults(route: Route): string[] {
  if (isHidden(route) || operationOf(route)) {
    return [];
  }
  return [`${nameOf(route)} is not documented: add @Operation({ summary, answer, problems }).`];
}

/** Routes that share an operation id, which is the name of the handler. */
export function operationIdFaults(routes: readonly Route[]): string[] {
  const shown = routes.filter((route) => !isHidden(route));
  const byId = Map.groupBy(shown, ({ handler }) => handler.name);
  return [...byId].filter(([, { length }]) => length > 1).map(([id, repeated]) => describeRepeated(id, repeated.map(nameOf)));
}

function describeRepeated(id: string, names: readonly string[]): string {
  return new Set(names).size === 1
    ? `The controller of ${names[0]} is part of two modules: leave it to one.`
    : `Two routes are named ${id}, ${names.toSorted().join(' and ')}: give one handler another name, it is the operation's id.`;
}

/** Whether the document leaves a route out, as those of the operator are. */
export function isHidden({ controller, handler }: Route): boolean {
  const [ofController] = (Reflect.getMetadata('swagger/apiExcludeController', controller) ?? []) as boolean[];
  const { disable } = (Reflect.getMetadata('swagger/apiExcludeEndpoint', handler) ?? {}) as { disable?: boolean };
  return ofController ?? disable ?? false;
}
