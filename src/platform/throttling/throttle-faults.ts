import type { Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { ThrottlerGuard } from '@nestjs/throttler';
import { nameOf, type Route } from '../routes/route.js';

/** The metadata key of the limit of `@Throttle()`, to which it appends the name of the throttler. */
const LIMIT = 'THROTTLER:LIMIT';

/** Options of `@Throttle()` that the platform ignores, because it counts by token; by their metadata key. */
const IGNORED = {
  'THROTTLER:BLOCK_DURATION': 'blockDuration',
  'THROTTLER:TRACKER': 'getTracker',
  'THROTTLER:KEY_GENERATOR': 'generateKey',
};

/** Rejects a `@Throttle()` without effect: the platform counts requests with a token, by one throttler. */
export function throttleFaults(route: Route, isPublic: boolean): string[] {
  const targets = [route.controller, route.handler];
  const keys = targets.flatMap((target) => (Reflect.getMetadataKeys(target) as unknown[]).map(String));
  const names = keys.filter((key) => key.startsWith(LIMIT)).map((key) => key.slice(LIMIT.length));
  const guards = targets.flatMap((target) => (Reflect.getMetadata(GUARDS_METADATA, target) ?? []) as unknown[]);
  const isUncounted = isPublic && names.length > 0 && !guards.some(isThrottlerGuard);
  const unknown = new Set(names.filter((name) => name !== 'default'));
  const has = (key: string) => targets.some((target) => Reflect.getMetadata(`${key}default`, target) !== undefined);
  const ignored = isPublic ? [] : Object.entries(IGNORED).filter(([key]) => has(key));
  const remedy = 'add @UseGuards(ThrottlerGuard), which counts addresses.';
  return [
    ...(isUncounted ? [`${nameOf(route)} has @Throttle(), which counts tokens, and is public: ${remedy}`] : []),
    ...[...unknown].map((name) => `${nameOf(route)} has @Throttle() for ${name}, which is no throttler: name it default.`),
    ...ignored.map(([, option]) => `${nameOf(route)} has @Throttle() with ${option}, which has no effect: remove it.`),
  ];
}

function isThrottlerGuard(guard: unknown): boolean {
  return guard === ThrottlerGuard || (Object(guard) as Type).prototype instanceof ThrottlerGuard;
}
