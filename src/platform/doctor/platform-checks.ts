import type { INestApplicationContext } from '@nestjs/common';
import { scopesOf } from '../auth/token-policy.decorator.js';
import { Configuration } from '../config/configuration.js';
import { TableRegistry } from '../database/table-registry.js';
import { Routes } from '../routes/routes.js';
import { issuerKeysCheck } from './auth/issuer-keys.js';
import { tokensFileCheck } from './auth/tokens-file.js';
import type { Check } from './check.js';
import { portsCheck } from './configuration/ports.js';
import { timeOutChecks } from './configuration/time-outs.js';
import { DatabaseChecks } from './database/database-checks.js';
import { DoctorChecks } from './doctor-checks.js';

/** All that there is to look at: what the platform needs, and what modules registered. */
export class PlatformChecks {
  private readonly database: DatabaseChecks;

  constructor(private readonly app: INestApplicationContext) {
    this.database = new DatabaseChecks(app.get(Configuration), app.get(TableRegistry));
  }

  all(): Check[] {
    const { app, database } = this;
    const configuration = app.get(Configuration);
    return [
      ...timeOutChecks(configuration),
      portsCheck(configuration),
      tokensFileCheck(configuration, () => app.get(Routes).all().flatMap(scopesOf)),
      issuerKeysCheck(configuration),
      ...database.all(),
      ...app.get(DoctorChecks).all(),
    ];
  }

  /** Gives up all connections. */
  async close(): Promise<void> {
    await this.database.close();
  }
}
