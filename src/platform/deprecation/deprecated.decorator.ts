import { annotate, annotationOf, placeOf, type Route } from '../routes/route.js';
import { type Deprecation, type DeprecationOptions, readDeprecation } from './read-deprecation.js';

const DEPRECATED = 'deprecated';

/**
 * Announces that a route, or every route of a controller, will be removed. Answers carry `Deprecation` (RFC 9745), `Sunset`
 * (RFC 8594) and a `Link` to what explains what to use instead; the OpenAPI document says the same; and
 * `items_deprecated_calls_total` tells which tokens still call it. It goes on working: remove it once its sunset has passed,
 * which `npm run api:check` watches over. What a method says comes before what its controller says.
 *
 * @throws Error, when the class is defined, for what is no day, less than 12 months' notice, or what is no link
 * @example
 * `@Deprecated({ since: '2027-01-01', sunset: '2028-01-01', link: '/docs#/Things/listThings' })`
 */
export function Deprecated(options: DeprecationOptions): ClassDecorator & MethodDecorator {
  return (target: object, method?: string | symbol) => {
    annotate(DEPRECATED, read(options, placeOf(target, method)))(target, method);
  };
}

/** What is announced of a route; undefined for one that stays. */
export function deprecationOf(route: Route): Deprecation | undefined {
  return annotationOf(DEPRECATED, route) as Deprecation | undefined;
}

function read(options: DeprecationOptions, place: string): Deprecation {
  try {
    return readDeprecation(options);
  } catch (error) {
    throw new Error(`@Deprecated() of ${place}: ${Error.isError(error) ? error.message : String(error)}`, { cause: error });
  }
}
