import type { DatabaseAccess } from './database-access.js';

/** All copies of a cluster have its number, which `initdb` gave it, and its databases theirs. */
const STATEMENT = `
  SELECT system_identifier::text AS system, (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database
  FROM pg_control_system()`;

interface Identity {
  system: string;
  database: string;
}

/** Whether two ways lead to the same database, or to copies that replication keeps of it. */
export async function isSameDatabase(one: DatabaseAccess, other: DatabaseAccess): Promise<boolean> {
  const [first, second] = await Promise.all([one.row<Identity>(STATEMENT), other.row<Identity>(STATEMENT)]);
  return first.system === second.system && first.database === second.database;
}
