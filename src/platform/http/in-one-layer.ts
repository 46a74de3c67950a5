import type { NextFunction, Request, RequestHandler, Response } from 'express';

/** Some middleware as one: Express matches the path, and keeps books, for each that it knows of. */
export function inOneLayer(...handlers: readonly RequestHandler[]): RequestHandler {
  return handlers.reduceRight<RequestHandler>(
    (rest, handler) => (request: Request, response: Response, next: NextFunction) =>
      handler(request, response, (error?: unknown) => {
        if (error) {
          next(error);
        } else {
          void rest(request, response, next);
        }
      }),
    (_request, _response, next) => {
      next();
    },
  );
}
