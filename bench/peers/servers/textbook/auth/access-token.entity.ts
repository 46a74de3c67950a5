import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('access_tokens')
export class AccessToken {
  @PrimaryColumn('uuid')
  declare id: string;

  /** SHA-256 of the token. */
  @Column('bytea')
  declare digest: Buffer;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  declare expiresAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  declare revokedAt: Date | null;
}
