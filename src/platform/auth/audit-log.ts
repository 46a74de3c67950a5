import { Injectable, Logger } from '@nestjs/common';
import { AUDIT_CONTEXT } from '../observability/nest-logger.js';

/** Who did something, and why. */
export interface Attribution {
  /** A person, a program or an address. */
  readonly actor: string;
  readonly reason: string;
}

/** What is kept for those who ask later who could do what, and since when. */
export type AuditEvent =
  'token.issued' | 'token.rotated' | 'token.revoked' | 'token.declared' | 'token.undeclared' | 'authentication.refused-by-budget';

/** Writes to the log, one line for each event, also where `LOG_LEVEL` asks for warnings and errors only. */
@Injectable()
export class AuditLog {
  private readonly logger = new Logger(AUDIT_CONTEXT);

  /** @param details - what it happened to; ids and names, never a token or its digest */
  write(event: AuditEvent, { actor, reason }: Attribution, details: Readonly<Record<string, unknown>>): void {
    this.logger.log({ msg: event, actor, reason, ...details });
  }
}
