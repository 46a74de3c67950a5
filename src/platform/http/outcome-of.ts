import type { Request, Response } from 'express';

/** What became of a request, once its connection is done with it. */
export interface Outcome {
  /** The path of the route that took it, with the names of its parameters; undefined if none did. */
  readonly route: string | undefined;
  /** Undefined if it was never answered. */
  readonly status: number | undefined;
  /** Whether its client has not got all of the answer. */
  readonly isAborted: boolean;
}

/** To be asked when the response has emitted `close`. */
export function outcomeOf(request: Request, response: Response): Outcome {
  const { route } = request as { route?: { path: string } };
  return {
    route: route?.path,
    status: response.headersSent ? response.statusCode : undefined,
    isAborted: !response.writableFinished,
  };
}
