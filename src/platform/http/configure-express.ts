import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express, NextFunction, Request, Response } from 'express';

/** Nothing runs, loads or frames but what this origin serves as files; enough for Swagger UI, which has no inline code. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

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

/** Headers for every response. TLS and its headers belong to the proxy in front: the service itself speaks plain HTTP. */
export function securityHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Cache-Control', 'no-store');
  next();
}
