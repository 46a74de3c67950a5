import { Logger } from '@nestjs/common';
import { AUDIT_CONTEXT } from '../observability/nest-logger.js';

export interface Attribution {
  /** A person, a program or an address. */
  readonly actor: string;
  readonly reason: string;
}

type AuditEvent =
  `token.${'issued' | 'rotated' | 'revoked' | 'declared' | 'undeclared'}` | 'authentication.refused-by-budget';

const logger = new Logger(AUDIT_CONTEXT);

/** Logs an audit event at any `LOG_LEVEL` except `silent`. @param details - ids and names, never a token or its digest */
export function audit(event: AuditEvent, { actor, reason }: Attribution, details: object = {}): void {
  logger.log({ msg: event, actor, reason, ...details });
}
