import type { Request } from 'express';
import type { Logger } from 'pino';
import { hideCredentials } from '../auth/hide-credentials.js';
import type { RequestObserver } from '../http/observe-requests.js';
import { currentTrace } from '../tracing/traced.js';

/** Writes one line for each request once it is over, without a status if it was never answered; no headers, query or body. */
export function accessLog(logger: Logger): RequestObserver {
  return (request: Request) => {
    if (!logger.isLevelEnabled('info')) {
      return () => undefined;
    }
    const start = performance.now();
    // Express shortens it for what is mounted below a path.
    const { path } = request;
    const trace = currentTrace();
    return ({ route, status, isAborted }) => {
      logger.info({
        msg: 'request',
        requestId: request.id,
        ...trace,
        principalId: request.user?.id,
        subject: request.user?.subject,
        refusal: request.refusal,
        method: request.method,
        route,
        path: hideCredentials(path),
        status,
        aborted: isAborted || undefined,
        durationMs: Math.round((performance.now() - start) * 1000) / 1000,
      });
    };
  };
}
