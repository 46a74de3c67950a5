import type { InjectionToken } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, type ModulesContainer } from '@nestjs/core';

type Module = ModulesContainer extends Map<string, infer Value> ? Value : never;

/** What would see or answer the requests of all modules. */
const GLOBAL_TOKENS = [APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE];

/**
 * Modules that reach beyond themselves: with middleware, which would see requests before their token is checked; with global
 * guards, interceptors, pipes and filters; or with a second instance of what the platform shares.
 *
 * @param platform - a provider of the module that may have these
 */
export function moduleFaults(modules: ModulesContainer, platform: InjectionToken): string[] {
  const features = [...modules.values()].filter(({ providers }) => !providers.has(platform));
  const shared = new Map(
    features.filter(({ isGlobal }) => isGlobal).flatMap((module) => [...module.exports].map((token) => [token, module] as const)),
  );
  const ownerOf = (token: InjectionToken) => shared.get(token);
  return [
    ...features.flatMap(middlewareFaults),
    ...features.flatMap(globalFaults),
    ...features.flatMap((module) => copyFaults(module, ownerOf)),
  ];
}

function middlewareFaults({ name, instance }: Module): string[] {
  return 'configure' in (instance as object)
    ? [`${name}.configure adds middleware, which runs before tokens are checked: use an interceptor, which runs after.`]
    : [];
}

function globalFaults({ name, providers }: Module): string[] {
  // Nest adds an id to the token, so that there may be several.
  const tokens = [...providers.keys()].flatMap((key) => GLOBAL_TOKENS.find((token) => String(key).startsWith(token)) ?? []);
  return tokens.map(
    (token) =>
      `${name} provides ${token}, which changes what all modules answer: put @UseInterceptors() or the like on its controllers.`,
  );
}

/** @param ownerOf - the module that shares a provider with all others, if there is one */
function copyFaults(module: Module, ownerOf: (token: InjectionToken) => Module | undefined): string[] {
  return [...module.providers.keys()]
    .filter((token) => typeof token === 'function' && (ownerOf(token) ?? module) !== module)
    .map(
      (token) => `${module.name} provides another ${(token as { name: string }).name}: leave it out, it can be injected without.`,
    );
}
