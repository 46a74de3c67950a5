import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TableRights } from '../database/table-rights.js';

/** The response to a request with an `Idempotency-Key`, written in the transaction of the request. */
@Entity('idempotency_keys')
@TableRights('INSERT', 'UPDATE', 'DELETE')
export class StoredResponse {
  /** `familyId` of the caller. */
  @PrimaryColumn('uuid', { name: 'token_id' })
  declare ownerId: string;

  @PrimaryColumn('text')
  declare key: string;

  @Column('bytea')
  declare digest: Buffer;

  /** HTTP status code; null while the request runs, in a row that other transactions cannot see. */
  @Column('smallint', { nullable: true })
  declare status: number | null;

  /** JSON; null for a response without a body. */
  @Column('text', { nullable: true })
  declare body: string | null;

  /** When the key can be used for another request. */
  @Column('timestamptz', { name: 'expires_at' })
  declare expiresAt: Date;
}
