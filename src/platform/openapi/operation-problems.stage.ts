import { HttpException, Injectable, Logger } from '@nestjs/common';
import { violatedConstraint } from '../database/sql-state.js';
import { Problem } from '../http/problem.js';
import { nameOf, type Route } from '../routes/route.js';
import type { Around, Stage } from '../stages/stage.js';
import { isHidden } from './operation-faults.js';
import { problemTypesOf } from './describe-answers.js';
import { operationOf } from './operation.decorator.js';

/**
 * Makes the problems that an operation declares of what its handler throws: a refusal of the database becomes the one with that
 * constraint. Problems that it does not declare reach the client all the same; the log tells of each once.
 */
@Injectable()
export class OperationProblemsStage implements Stage {
  private readonly logger = new Logger('Problem');
  private readonly undeclared = new Set<string>();

  around(route: Route): Around {
    return async (_request, _response, handle) => {
      try {
        return await handle();
      } catch (error) {
        const raised = asDeclared(error, route) ?? error;
        this.check(raised, route);
        throw raised;
      }
    };
  }

  /** Those met so far that an operation did not declare, each with what is to be done. Any of them fails the tests. */
  get faults(): readonly string[] {
    return [...this.undeclared];
  }

  private check(error: unknown, route: Route): void {
    const fault = undeclared(error, route);
    if (fault !== undefined && !this.undeclared.has(fault)) {
      this.undeclared.add(fault);
      this.logger.error(fault);
    }
  }
}

function asDeclared(error: unknown, route: Route): Problem | undefined {
  const constraint = violatedConstraint(error);
  const type = constraint && operationOf(route)?.problems?.find((problem) => problem.constraint === constraint);
  return type ? new Problem(type, type.remedy, { cause: error }) : undefined;
}

function undeclared(error: unknown, route: Route): string | undefined {
  if (error instanceof HttpException) {
    return `${nameOf(route)} raised an exception of Nest, ${error.name}, which no document tells of: raise a Problem of a type from defineProblemType.`;
  }
  if (!(error instanceof Problem) || isHidden(route) || problemTypesOf(route).has(error.type)) {
    return undefined;
  }
  return `${nameOf(route)} raised the problem "${error.type.name}" and does not document it: name it in the problems of its @Operation.`;
}
