import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A stored access token, without the token itself. */
@Entity('access_tokens')
export class AccessToken {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare name: string;

  /** SHA-256 of the token. */
  @Column('bytea', { unique: true })
  declare digest: Buffer;

  /** Last four characters of the token, to recognize it; null for tokens issued before these were stored. */
  @Column('text', { name: 'last_four', nullable: true })
  declare lastFour: string | null;

  @Column('timestamptz', { name: 'created_at' })
  declare createdAt: Date;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  declare expiresAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  declare revokedAt: Date | null;

  /** Null allows everything. */
  @Column('text', { array: true, nullable: true })
  declare scopes: string[] | null;

  /** Requests in `RATE_LIMIT_WINDOW`; null for `RATE_LIMIT`. */
  @Column('integer', { name: 'rate_limit', nullable: true })
  declare rateLimit: number | null;

  /** UTC day, `YYYY-MM-DD`. */
  @Column('date', { name: 'last_used_on', nullable: true })
  declare lastUsedOn: string | null;

  @Column('uuid', { name: 'replaced_by', nullable: true })
  declare replacedBy: string | null;

  /** Id of the first token in a chain of rotations; null for the first token itself. */
  @Column('uuid', { name: 'family_id', nullable: true })
  declare familyId: string | null;
}

/** The reason why a token is not valid now; undefined for a valid token. */
export function invalidityOf({ revokedAt, expiresAt, replacedBy }: AccessToken) {
  if (revokedAt) {
    return 'revoked';
  }
  if (expiresAt === null || expiresAt.getTime() > Date.now()) {
    return undefined;
  }
  return replacedBy === null ? 'expired' : 'rotated';
}
