import type { NextFunction, Request, Response } from 'express';

declare global {
  namespace Express {
    interface Request {
      /** Whether the path may be used without a token, unless it is one of a controller. */
      isOnPublicPath?: true;
    }
  }
}

/**
 * Nest middleware for what a library maps after the controllers, such as static files: without it, requests need a valid
 * token. `consumer.apply(publicPath).forRoutes('assets')` opens that path and all below it. Routes of controllers keep their
 * policies.
 */
export function publicPath(request: Request, _response: Response, next: NextFunction): void {
  const [path = ''] = request.originalUrl.split('?', 1);
  // Paths with `..` stay closed: libraries such as `send` normalize them, and would serve another path.
  if (!/(?:^|[\\/])\.\.(?:[\\/]|$)/.test(decodeURIComponent(path))) {
    request.isOnPublicPath = true;
  }
  next();
}
