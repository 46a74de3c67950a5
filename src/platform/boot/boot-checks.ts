import { Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { tokenPolicyFaults } from '../auth/token-policy.decorator.js';
import { OperatorError } from '../config/operator-error.js';
import { TableRegistry } from '../database/table-registry.js';
import { problemTypeFaults } from '../http/problem-type.js';
import { idempotencyFaults } from '../idempotency/idempotent.decorator.js';
import { filterDefinitions } from '../lists/filter/define-filter.js';
import { missingIndexes } from '../lists/filter-indexes.js';
import { operationFaults, operationIdFaults } from '../openapi/operation-faults.js';
import { schemaNameFaults } from '../openapi/schema-names.js';
import { sectionFaults } from '../openapi/sections.js';
import { inputFaults } from '../validation/input-faults.js';
import { Routes } from '../routes/routes.js';
import { handlerFaults } from './handler-faults.js';
import { moduleFaults } from './module-faults.js';

/** What every route must keep. Each rule names what is wrong, and how to mend it. */
const ROUTE_RULES = [handlerFaults, tokenPolicyFaults, inputFaults, operationFaults, idempotencyFaults];

/** Keeps an application from starting whose modules forgot something that its customers would notice. */
@Injectable()
export class BootChecks {
  constructor(
    private readonly routes: Routes,
    private readonly tables: TableRegistry,
    private readonly modules: ModulesContainer,
  ) {}

  /** @throws OperatorError that names every fault of all modules */
  run(): void {
    const routes = this.routes.all();
    const faults = [
      ...routes.flatMap((route) => ROUTE_RULES.flatMap((faultsOf) => faultsOf(route))),
      ...operationIdFaults(routes),
      ...sectionFaults(routes),
      ...schemaNameFaults(routes),
      ...problemTypeFaults(),
      ...missingIndexes(filterDefinitions(), this.tables),
      ...moduleFaults(this.modules, BootChecks),
    ];
    if (faults.length > 0) {
      throw new OperatorError(
        `The application does not start until this is mended:\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
      );
    }
  }
}
