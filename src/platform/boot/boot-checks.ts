import { Injectable } from '@nestjs/common';
import { tokenPolicyFaults } from '../auth/token-policy.decorator.js';
import { OperatorError } from '../config/operator-error.js';
import { TableRegistry } from '../database/table-registry.js';
import { idempotencyFaults } from '../idempotency/idempotent.decorator.js';
import { filterDefinitions } from '../lists/filter/define-filter.js';
import { missingIndexes } from '../lists/filter-indexes.js';
import { operationFaults, operationIdFaults } from '../openapi/operation-faults.js';
import { inputFaults } from '../validation/input-faults.js';
import { Routes } from '../routes/routes.js';
import { handlerFaults } from './handler-faults.js';

/** What every route must keep. Each rule names what is wrong, and how to fix it. */
const ROUTE_RULES = [handlerFaults, tokenPolicyFaults, inputFaults, operationFaults, idempotencyFaults];

/** Keeps an application from starting whose modules forgot something that its customers would notice. */
@Injectable()
export class BootChecks {
  constructor(
    private readonly routes: Routes,
    private readonly tables: TableRegistry,
  ) {}

  /** @throws OperatorError that names every fault of all modules */
  run(): void {
    const routes = this.routes.all();
    const faults = [
      ...routes.flatMap((route) => ROUTE_RULES.flatMap((faultsOf) => faultsOf(route))),
      ...operationIdFaults(routes),
      ...missingIndexes(filterDefinitions(), this.tables),
    ];
    if (faults.length > 0) {
      throw new OperatorError(
        `The application does not start until this is fixed:\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
      );
    }
  }
}
