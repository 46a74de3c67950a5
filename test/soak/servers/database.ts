import type { QueryResultRow } from 'pg';
import { Address } from './address.ts';
import { Postgres } from './postgres.ts';

/** A primary and a synchronous standby, which is a read replica, each behind an address that stays. */
export class Database {
  private readonly address: Address;
  private readonly replicaAddress: Address;
  private primary: Postgres;
  private standby: Postgres;

  private constructor(address: Address, replicaAddress: Address, primary: Postgres, standby: Postgres) {
    this.address = address;
    this.replicaAddress = replicaAddress;
    this.primary = primary;
    this.standby = standby;
  }

  static async start(): Promise<Database> {
    const primary = await Postgres.startPrimary();
    const standby = await Postgres.startStandbyOf(primary);
    return new Database(await Address.open(primary.port), await Address.open(standby.port), primary, standby);
  }

  /** Of the primary. */
  get url(): string {
    return this.address.url;
  }

  /** Of the standby. */
  get replicaUrl(): string {
    return this.replicaAddress.url;
  }

  query<Row extends QueryResultRow>(statement: string, parameters?: unknown[]): Promise<Row[]> {
    return this.primary.query<Row>(statement, parameters);
  }

  /** The same on both servers. */
  async queryBoth<Row extends QueryResultRow>(statement: string): Promise<Row[]> {
    return [...(await this.primary.query<Row>(statement)), ...(await this.standby.query<Row>(statement))];
  }

  /** The primary crashes, and the standby takes over. */
  async failOver(): Promise<void> {
    await this.primary.stop('immediate');
    this.replicaAddress.lead();
    await this.standby.promote();
    this.primary = this.standby;
    this.address.lead(this.primary.port);
  }

  /** Gives the primary a new standby after a failover. */
  async addStandby(): Promise<void> {
    this.standby = await Postgres.startStandbyOf(this.primary);
    this.replicaAddress.lead(this.standby.port);
  }

  /** Disconnects all clients, as an update of PostgreSQL does. */
  async restart(): Promise<void> {
    await this.primary.stop('fast');
    await this.primary.start();
  }

  /** Stops the primary from running. @returns a function that continues */
  freeze(): () => void {
    return this.primary.freeze();
  }

  close(): void {
    this.address.close();
    this.replicaAddress.close();
  }
}
