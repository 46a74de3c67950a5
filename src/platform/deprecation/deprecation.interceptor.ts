import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  Logger,
  type NestInterceptor,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import onHeaders from 'on-headers';
import type { Observable } from 'rxjs';
import { routeOf } from '../routes/route.js';
import { Routes } from '../routes/routes.js';
import { deprecationOf } from './deprecated.decorator.js';
import { DeprecatedCalls } from './deprecated-calls.js';
import { deprecationHeaders } from './deprecation-headers.js';
import type { Deprecation } from './read-deprecation.js';

/** Tells callers of `@Deprecated()` routes, whatever their answer is, and counts them. Refused calls got no further than a guard. */
@Injectable()
export class DeprecationInterceptor implements NestInterceptor, OnApplicationBootstrap {
  private readonly logger = new Logger('Deprecation');

  constructor(
    private readonly routes: Routes,
    private readonly calls: DeprecatedCalls,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const deprecation = deprecationOf(routeOf(context));
    if (deprecation) {
      const http = context.switchToHttp();
      this.calls.count(context.getHandler().name, http.getRequest<Request>().user?.id);
      announce(deprecation, http.getResponse<Response>());
    }
    return next.handle();
  }

  /** Reminds of what may be removed. */
  onApplicationBootstrap(): void {
    for (const route of this.routes.all()) {
      const { sunset } = deprecationOf(route) ?? {};
      if (sunset && sunset.getTime() <= Date.now()) {
        this.logger.warn({ msg: 'sunset has passed', operation: route.handler.name, sunset, remedy: 'remove the operation' });
      }
    }
  }
}

/** At the last moment: a `Link` that the handler or a problem sets until then stays, too. */
function announce(deprecation: Deprecation, response: Response): void {
  const { Link, ...headers } = deprecationHeaders(deprecation);
  onHeaders(response, () => {
    for (const [name, value] of Object.entries(headers)) {
      response.setHeader(name, value);
    }
    response.appendHeader('Link', Link);
  });
}
