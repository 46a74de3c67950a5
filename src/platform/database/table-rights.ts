import type { DataSource } from 'typeorm';
import { quotedTable } from './database-client.js';
import { type Difference, rejecting } from './schema-drift.js';

const WRITES = ['INSERT', 'UPDATE', 'DELETE'] as const;

const needed = new Map<unknown, readonly string[]>();

/** Declares the rights on the table of an entity, beside SELECT, without which the service must not start. */
export function TableRights(...rights: (typeof WRITES)[number][]): ClassDecorator {
  return (entity) => void needed.set(entity, rights);
}

/** Selects missing rights. A right on some of the columns is enough. Missing tables are reported by `checkSchema`. */
const LACKING = `
  SELECT "isFault", format('%s: the role %I lacks %s on %s. As %s, run GRANT %3$s ON %4$s TO %2$I;',
      entity, current_user, lacking, "table", relowner::regrole) AS text
  FROM json_to_recordset($1) AS declared (entity text, "table" text, "isFault" boolean, rights text[])
    JOIN pg_class ON oid = to_regclass("table"), LATERAL (SELECT string_agg(name, ', ') FROM unnest(rights) AS name
      WHERE NOT CASE name WHEN 'DELETE' THEN has_table_privilege(oid, name) ELSE has_any_column_privilege(oid, name) END)
    AS missing (lacking)
  WHERE lacking IS NOT NULL`;

/** Looks for missing rights before the service is ready. @throws OperatorError with all faults */
export const checkRights = rejecting(findMissingRights);

/** Finds rights that the role lacks. Without `@TableRights`, only SELECT is a fault: others may not be needed. */
export async function findMissingRights(dataSource: DataSource): Promise<Difference[]> {
  const tables = dataSource.entityMetadatas.filter(({ tableType }) => tableType !== 'entity-child');
  const declared = tables.flatMap((metadata) => {
    const rights = needed.get(metadata.target);
    const isOwn = metadata.tableType !== 'view' && metadata.synchronize;
    const table = { entity: metadata.name, table: quotedTable(metadata) };
    return [
      { ...table, isFault: true, rights: ['SELECT', ...(rights ?? [])] },
      { ...table, isFault: false, rights: rights || !isOwn ? [] : WRITES },
    ];
  });
  return dataSource.query<Difference[]>(LACKING, [JSON.stringify(declared)]);
}
