import { bodyConstraints } from './body-constraints.js';
import type { Constraint } from './constraint.js';
import { parameterConstraints } from './parameter-constraints.js';
import { schemaConstraints } from './schema-constraints.js';
import type { ValidDrafts } from './valid-drafts.js';

/** Everything that the document asks of the requests of an operation, by name: in its schemas, and by what OpenAPI implies. */
export function constraintsOf(drafts: ValidDrafts): ReadonlyMap<string, Constraint> {
  const constraints = [
    ...schemaConstraints(drafts),
    ...parameterConstraints(drafts),
    ...(drafts.operation.body ? bodyConstraints(drafts) : []),
  ];
  return new Map(constraints.map((constraint) => [`${drafts.operation.name}: ${constraint.name}`, constraint]));
}
