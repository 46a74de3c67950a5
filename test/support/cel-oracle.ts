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

/** The rows for which another implementation of CEL finds a filter true, neither false nor an error. */
export function matchesOf(filter: string, rows: readonly ItemRow[]): ItemRow[] {
  const evaluate = plan(environment, parse(filter)) as (values: Record<string, CelInput>) => unknown;
  return rows.filter(
    ({ id, name, description }) =>
      evaluate({ id, name, description, createdAt: timestampFromMs(creationTime(id).getTime()) }) === true,
  );
}
