import { Injectable, Logger, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { tokenPolicyFaults, tokenPolicyOf } from '../auth/token-policy.decorator.js';
import { OperatorError } from '../config/operator-error.js';
import { Database } from '../database/database.js';
import { idempotencyFaults, isIdempotent } from '../idempotency/idempotent.decorator.js';
import { filterDefinitions } from '../lists/filter/define-filter.js';
import { missingIndexes } from '../lists/filter-columns.js';
import { nameOf } from '../routes/route.js';
import { Routes } from '../routes/routes.js';
import { answerFaults, inputFaults, operationIdFaults, pathFaults, pathFaultsOf, responseFaults } from './route-faults.js';

/** What every route must keep. Each rule names what is wrong, and how to fix it. */
const ROUTE_RULES = [tokenPolicyFaults, responseFaults, pathFaults, inputFaults, answerFaults, idempotencyFaults];

/** Keeps an application from starting whose modules forgot something that its customers would notice. */
@Injectable()
export class BootChecks {
  constructor(
    private readonly routes: Routes,
    private readonly database: Database,
  ) {}

  /** @throws OperatorError that names every fault of all modules */
  run(): void {
    const routes = this.routes.all();
    const faults = [
      ...routes.flatMap((route) => ROUTE_RULES.flatMap((faultsOf) => faultsOf(route))),
      ...operationIdFaults(routes),
      ...missingIndexes(filterDefinitions(), this.database.tables),
    ];
    refuse(faults);
    const posts = routes.filter((route) => Reflect.getMetadata(METHOD_METADATA, route.handler) === RequestMethod.POST);
    for (const route of posts.filter((post) => !isIdempotent(post) && tokenPolicyOf(post) !== 'public')) {
      new Logger('Boot').warn(
        `${nameOf(route)} creates twice what a client sends twice: add @Idempotent() to allow for retries.`,
      );
    }
  }

  /**
   * Checks the routes as they were registered, with all prefixes and versions.
   *
   * @param paths - each with its method
   * @throws OperatorError that names those that are equal
   */
  checkPaths(paths: readonly string[]): void {
    refuse(pathFaultsOf(paths));
  }
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) {
    throw new OperatorError(
      `The application does not start until this is fixed:\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
    );
  }
}
