import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express, NextFunction, Request, Response } from 'express';

/** Allows only files of this origin. Swagger UI has no inline code, so this is enough for it. */
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

/** Makes paths case-sensitive and strict, and turns off Nest's body parser: `InputGuard` reads bodies after the other guards. */
export function configureExpress(app: NestExpressApplication, trustedProxies: readonly string[]): void {
  const adapter = app.getHttpAdapter();
  const express: Express = adapter.getInstance();
  express.disable('x-powered-by').disable('etag').set('trust proxy', trustedProxies);
  // `set` has no effect on these once the router has middleware, which Nest has added.
  Object.assign(express.router, { caseSensitive: true, strict: true });
  Object.assign(adapter, { registerParserMiddleware: () => undefined });
}

/** Headers of every response. TLS headers belong to the proxy in front: the service itself speaks plain HTTP. */
export function securityHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Cache-Control', 'no-store');
  next();
}
