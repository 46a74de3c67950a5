import {
  type CanActivate,
  ClassSerializerInterceptor,
  type ExecutionContext,
  type INestApplicationContext,
  Logger,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import { ApplicationConfig, BaseExceptionFilter, ModulesContainer } from '@nestjs/core';
import { OperatorError } from '../errors/operator-error.js';
import { isHidden } from '../routes/operation.js';

/** What the names of `@UseGuards`, `useGlobalGuards` and their like end in, by Nest's name of the kind. */
const PLURALS = { guard: 'Guards', interceptor: 'Interceptors', pipe: 'Pipes', filter: 'Filters' };

type Subtype = keyof typeof PLURALS;
type Enhancer = Partial<CanActivate & NestInterceptor>;

/**
 * Warns of what features bind globally, and keeps their guards and interceptors away from hidden routes, such as probes.
 *
 * @param platform - module of the platform, whose own enhancers stay as they are
 * @throws OperatorError for an enhancer that is not a singleton, which cannot be kept away, for Nest's serializer, which
 * would get filtered, plain objects without the decorators of their class, and for a filter that extends Nest's
 */
export function confineEnhancers(app: INestApplicationContext, platform: Type): void {
  orderEnhancers(app, platform);
  const features = [...app.get(ModulesContainer).values()].filter(({ metatype }) => metatype !== platform);
  for (const { name: module, providers, injectables } of features) {
    for (const { token, subtype, instance } of [...providers.values(), ...injectables.values()]) {
      rejectBaseFilter(`${module} has`, instance);
      // Only global enhancers have a string as token: those of a controller have their class.
      if (subtype && typeof token === 'string') {
        confine(`${module} binds`, subtype, (instance ?? {}) as Enhancer, injectables.has(token));
      }
    }
  }
  const config = app.get(ApplicationConfig);
  for (const [subtype, plural] of Object.entries(PLURALS) as [Subtype, string][]) {
    const method = `useGlobal${plural}` as 'useGlobalGuards';
    const bind = config[method].bind(config);
    const binds = `app.${method}() binds`;
    config[method] = (...enhancers) => {
      enhancers.forEach((enhancer) => {
        rejectBaseFilter(binds, enhancer);
        confine(binds, subtype, enhancer);
      });
      bind(...enhancers);
    };
  }
}

/** Rejects a filter whose `super.catch()` sends Nest's own responses, without headers such as `WWW-Authenticate`. */
function rejectBaseFilter(has: string, provider: unknown): void {
  if (provider instanceof BaseExceptionFilter) {
    const { name } = provider.constructor;
    throw new OperatorError(
      `${has} ${name}, a BaseExceptionFilter of Nest, whose responses are no problems: extend ProblemFilter.`,
    );
  }
}

/**
 * Nest takes what a module binds globally before what its imports bind, so that guards of `AppModule` would run before the
 * token is verified, and its filters never. Modules that are imported before the platform keep their order.
 */
function orderEnhancers(app: INestApplicationContext, platform: Type): void {
  const modules = [...app.get(ModulesContainer).values()];
  // Nest adds a global module to the imports of all modules, but not to their metadata.
  const importsOf = ({ metatype }: (typeof modules)[number]) =>
    (Reflect.getMetadata(MODULE_METADATA.IMPORTS, metatype) ?? []) as unknown[];
  const boundBy = (binding: typeof modules) =>
    new Set(binding.flatMap(({ providers }) => [...providers.values()].map(({ instance }): unknown => instance)));
  const own = boundBy(modules.filter(({ metatype }) => metatype === platform));
  const above = boundBy(modules.filter((each) => importsOf(each).includes(platform)));
  const config = app.get(ApplicationConfig);
  const lists: unknown[][] = [config.getGlobalGuards(), config.getGlobalPipes(), config.getGlobalFilters()];
  for (const list of lists) {
    const late = list.filter((each) => above.has(each));
    const others = list.filter((each) => !above.has(each));
    const end = others.findLastIndex((each) => own.has(each)) + 1;
    list.splice(0, list.length, ...others.slice(0, end), ...late, ...others.slice(end));
  }
}

function confine(binds: string, subtype: Subtype, enhancer: Enhancer, isScoped = false): void {
  const bound = `${binds} ${enhancer.constructor.name}, a global ${subtype}`;
  const remedy = `bind it with @Use${PLURALS[subtype]}() to the controllers that need it.`;
  if (isScoped) {
    throw new OperatorError(`${bound}, which is not a singleton, also for probes: ${remedy}`);
  }
  if (enhancer instanceof ClassSerializerInterceptor) {
    throw new OperatorError(`${bound}, which runs on results without the decorators of their class: ${remedy}`);
  }
  new Logger('Boot').warn(`${bound}, which runs on the routes of all features: ${remedy}`);
  // Passes requests of hidden routes on.
  const { canActivate, intercept } = enhancer;
  if (canActivate) {
    enhancer.canActivate = (context) => isOfHidden(context) || canActivate.call(enhancer, context);
  }
  if (intercept) {
    enhancer.intercept = (context, next) => (isOfHidden(context) ? next.handle() : intercept.call(enhancer, context, next));
  }
}

function isOfHidden(context: ExecutionContext): boolean {
  return isHidden({ controller: context.getClass(), handler: context.getHandler() });
}
