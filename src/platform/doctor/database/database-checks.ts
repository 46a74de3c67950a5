import type { Configuration } from '../../config/configuration.js';
import type { TableRegistry } from '../../database/table-registry.js';
import type { ServerKind } from '../../database/data-source-options.js';
import { type Check, skipped } from '../check.js';
import { clockCheck } from './clock.js';
import { connectionCheck } from './connection.js';
import { connectionsCheck } from './connections.js';
import { DatabaseAccess } from './database-access.js';
import { directCheck, poolerCheck } from './direct.js';
import { DataDirectory, dataDirectoryCheck, embeddedConnectionCheck } from './embedded.js';
import { extensionsCheck } from './extensions.js';
import { indexesCheck } from './indexes.js';
import { migrationsCheck } from './migrations.js';
import { replicaCheck } from './replica.js';
import { migratingRightsCheck, rightsCheck } from './rights.js';
import { serverChecks } from './server.js';
import { tablesCheck } from './tables.js';

/** The database, whichever it is: with the same checks, of which those are skipped that mean nothing to the embedded one. */
export class DatabaseChecks {
  private readonly directory: DataDirectory;
  private readonly access: DatabaseAccess;
  private readonly direct: DatabaseAccess | undefined;
  private readonly replicas: readonly DatabaseAccess[];

  constructor(
    private readonly configuration: Configuration,
    private readonly tables: TableRegistry,
  ) {
    const { DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_REPLICA_URLS, DATA_DIR } = configuration;
    this.directory = new DataDirectory(DATA_DIR);
    this.access =
      DATABASE_URL === undefined
        ? this.embedded()
        : this.on(DATABASE_URL, DATABASE_DIRECT_URL === undefined ? 'server' : 'pooler');
    this.direct = DATABASE_DIRECT_URL === undefined ? undefined : this.on(DATABASE_DIRECT_URL, 'server');
    this.replicas = DATABASE_REPLICA_URLS.map((url) => this.on(url, 'replica'));
  }

  all(): Check[] {
    const { access, direct, configuration, tables, replicas } = this;
    const isEmbedded = configuration.DATABASE_URL === undefined;
    // Migrations take another way where there is one.
    const migrating = direct ?? access;
    const migratingNeeds = ['database.migrations', ...(direct ? ['database.direct'] : [])];
    const serverOnly = (check: Check): Check =>
      isEmbedded ? { ...check, run: () => skipped('the database is embedded') } : check;
    return [
      dataDirectoryCheck(this.directory, configuration),
      isEmbedded ? embeddedConnectionCheck(access, this.directory) : connectionCheck(access),
      ...serverChecks(access).map(serverOnly),
      serverOnly(directCheck(access, direct)),
      migrationsCheck(access, tables, configuration),
      tablesCheck(access),
      serverOnly(rightsCheck(access)),
      serverOnly(migratingRightsCheck(migrating, migratingNeeds, configuration)),
      serverOnly(extensionsCheck(migrating, migratingNeeds, tables)),
      indexesCheck(access, tables),
      serverOnly(connectionsCheck(access, configuration)),
      serverOnly(clockCheck(access)),
      serverOnly(poolerCheck(access, configuration)),
      ...replicas.map((replica, index) => replicaCheck(access, replica, index + 1)),
    ];
  }

  async close(): Promise<void> {
    await Promise.all([this.access, ...(this.direct ? [this.direct] : []), ...this.replicas].map((access) => access.close()));
    await this.directory.close();
  }

  private on(url: string, kind: ServerKind): DatabaseAccess {
    return new DatabaseAccess(this.configuration, this.tables, () => ({ url, kind }));
  }

  private embedded(): DatabaseAccess {
    return new DatabaseAccess(this.configuration, this.tables, () => {
      const { location } = this.directory;
      if (!location) {
        throw new Error('The embedded database is not open.');
      }
      return location;
    });
  }
}
