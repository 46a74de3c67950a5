import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';

/**
 * One URL for each resource, and no bodies read before the guards: `InputGuard` reads them.
 *
 * @param trustedProxies - addresses and networks whose `X-Forwarded-For` is believed
 */
export function configureExpress(app: NestExpressApplication, trustedProxies: readonly string[]): void {
  const adapter = app.getHttpAdapter();
  const express: Express = adapter.getInstance();
  express.disable('x-powered-by').disable('etag').set('trust proxy', trustedProxies);
  // Express reads these settings only before its first middleware, which Nest has added.
  Object.assign(express.router, { caseSensitive: true, strict: true });
  Object.assign(adapter, { registerParserMiddleware: () => undefined });
}
