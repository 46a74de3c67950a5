import type { Request, Response } from 'express';
import type { Route } from '../routes/route.js';

/** Looks at a request before the arguments of its handler are made of it. */
export type Before = (request: Request, response: Response) => Promise<void> | undefined;

/**
 * Does something around a handler.
 *
 * @param handle - calls the handler, or what is around it more closely
 * @returns its result, or another one
 */
export type Around = (request: Request, response: Response, handle: () => Promise<unknown>) => Promise<unknown>;

/** A part of what the platform does with each request that its guards let in. Both are asked for once for each route. */
export interface Stage {
  /** What it does before the handler; undefined if that is nothing on this route. */
  before?(route: Route): Before | undefined;
  /** What it does around the handler; undefined if that is nothing on this route. */
  around?(route: Route): Around | undefined;
}
