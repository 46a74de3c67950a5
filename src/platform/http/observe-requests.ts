import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { type Outcome, outcomeOf } from './outcome-of.js';

/**
 * Told of a request as it arrives.
 *
 * @returns called when its connection is done with it, with what became of it
 */
export type RequestObserver = (request: Request, response: Response) => (outcome: Outcome) => void;

/** Tells of each request: one listener for all. */
export function observeRequests(...observers: readonly RequestObserver[]): RequestHandler {
  return (request: Request, response: Response, next: NextFunction) => {
    const ends = observers.map((observe) => observe(request, response));
    response.once('close', () => {
      const outcome = outcomeOf(request, response);
      for (const end of ends) end(outcome);
    });
    next();
  };
}
