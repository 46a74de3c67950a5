import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';
import { parseQueryString } from './query-string.js';

/**
 * Gives Express one URL for each resource, no responses that depend on conditional headers, and parameters that are plain text. Bodies
 * are left to `InputGuard`, which reads them after the guards.
 *
 * @param trustedProxies - addresses and networks whose `X-Forwarded-For` is believed
 */
export function configureExpress(app: NestExpressApplication, trustedProxies: readonly string[]): void {
  const adapter = app.getHttpAdapter();
  const express: Express = adapter.getInstance();
  express.disable('x-powered-by').disable('etag').set('query parser', parseQueryString).set('trust proxy', trustedProxies);
  // Express reads these settings only before its first middleware, which Nest has added.
  Object.assign(express.router, { caseSensitive: true, strict: true });
  Object.assign(adapter, { registerParserMiddleware: () => undefined });
}
