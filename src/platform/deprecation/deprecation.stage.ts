import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Response } from 'express';
import onHeaders from 'on-headers';
import type { Route } from '../routes/route.js';
import { Routes } from '../routes/routes.js';
import { deprecationOf } from './deprecated.decorator.js';
import { DeprecatedCalls } from './deprecated-calls.js';
import { deprecationHeaders } from './deprecation-headers.js';
import type { Before, Stage } from '../stages/stage.js';
import type { Deprecation } from './read-deprecation.js';

/** Tells callers of `@Deprecated()` routes, whatever their answer is, and counts them. Refused calls got no further than a guard. */
@Injectable()
export class DeprecationStage implements Stage, OnApplicationBootstrap {
  private readonly logger = new Logger('Deprecation');

  constructor(
    private readonly routes: Routes,
    private readonly calls: DeprecatedCalls,
  ) {}

  before(route: Route): Before | undefined {
    const deprecation = deprecationOf(route);
    return (
      deprecation &&
      ((request, response) => {
        this.calls.count(route.handler.name, request.user?.id);
        announce(deprecation, response);
        return undefined;
      })
    );
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
