import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A token as the database knows it: everything but the token itself. */
@Entity('access_tokens')
export class AccessToken {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare name: string;

  /** SHA-256 of the token. */
  @Column('bytea')
  declare digest: Buffer;

  @Column('timestamptz', { name: 'created_at' })
  declare createdAt: Date;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  declare expiresAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  declare revokedAt: Date | null;

  /** What it is restricted to; null for everything. */
  @Column('text', { array: true, nullable: true })
  declare scopes: string[] | null;

  /** UTC day, `YYYY-MM-DD`. */
  @Column('date', { name: 'last_used_on', nullable: true })
  declare lastUsedOn: string | null;
}
