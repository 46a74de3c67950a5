import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The answer to a request with an `Idempotency-Key`, written in the transaction of what the request did. */
@Entity('idempotency_keys')
export class KeptAnswer {
  /** `familyId` of who made the request. */
  @PrimaryColumn('uuid', { name: 'token_id' })
  declare ownerId: string;

  @PrimaryColumn('text')
  declare key: string;

  /** Of the request. */
  @Column('bytea')
  declare digest: Buffer;

  /** HTTP status code. Null while the request is under way, which other transactions do not see. */
  @Column('smallint', { nullable: true })
  declare status: number | null;

  /** JSON; null for an answer without a body. */
  @Column('text', { nullable: true })
  declare body: string | null;

  /** From then on the key is free again. */
  @Column('timestamptz', { name: 'expires_at' })
  declare expiresAt: Date;
}
