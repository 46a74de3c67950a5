import { type CelInput, celEnv, celMethod, CelScalar, parse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { creationTime } from '../../src/platform/database/id.js';

/** What a filter sees of an item. */
export interface ItemRow {
  id: string;
  name: string;
  description: string | null;
}

/** The one function that is not CEL's. */
const icontains = celMethod('icontains', CelScalar.STRING, [CelScalar.STRING], CelScalar.BOOL, function (text) {
  return this.toLowerCase().includes(text.toLowerCase());
});

const environment = celEnv({ funcs: [...strings, icontains] });

/** What an expression can name, with the values that it has for a row. */
export type Bindings = Record<string, CelInput>;

export function itemBindings({ id, name, description }: ItemRow): Bindings {
  return { id, name, description, createdAt: timestampFromMs(creationTime(id).getTime()) };
}

/** The rows for which another implementation of CEL finds a filter true, neither false nor an error. */
export function matchesOf<Row extends ItemRow>(
  filter: string,
  rows: readonly Row[],
  bindings: (row: Row) => Bindings = itemBindings,
): Row[] {
  const evaluate = plan(environment, parse(filter)) as (values: Bindings) => unknown;
  return rows.filter((row) => evaluate(bindings(row)) === true);
}
