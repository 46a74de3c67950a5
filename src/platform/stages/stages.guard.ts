import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { currentRequest } from '../http/request-context.js';
import { PerRoute } from '../routes/per-route.js';
import type { Around, Before, Stage } from './stage.js';

/**
 * Takes requests through the stages of the platform, in their order: at once through what comes before the handler, and through
 * what is around it once it is called. It is the last guard, and lets in what passes.
 */
export class StagesGuard implements CanActivate {
  private readonly ways: PerRoute<{ readonly before: readonly Before[]; readonly around: Around }>;

  constructor(stages: readonly Stage[]) {
    this.ways = new PerRoute((route) => ({
      before: stages.flatMap((stage) => stage.before?.(route) ?? []),
      around: stages.flatMap((stage) => stage.around?.(route) ?? []).reduceRight(nest, handleOnly),
    }));
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { before, around } = this.ways.of(context);
    const [request, response] = context.getArgs<[Request, Response]>();
    const current = currentRequest();
    if (!current) {
      throw new Error('A request came past rememberRequest: its handler would be called without what is around it.');
    }
    // Not in one expression: V8 puts a function that is written as the value of a property among objects that live long, where it
    // would keep the request until the next thorough collection.
    const stages: typeof current.around = (handle) => around(request, response, handle);
    current.around = stages;
    return passThrough(before, request, response, 0);
  }
}

const handleOnly: Around = (_request, _response, handle) => handle();

function nest(inner: Around, outer: Around): Around {
  return (request, response, handle) => outer(request, response, () => inner(request, response, handle));
}

/** Without a promise where nothing has to be waited for. */
function passThrough(stages: readonly Before[], request: Request, response: Response, from: number): boolean | Promise<boolean> {
  for (let place = from; place < stages.length; place += 1) {
    const wait = stages[place]?.(request, response);
    if (wait) {
      return wait.then(() => passThrough(stages, request, response, place + 1));
    }
  }
  return true;
}
