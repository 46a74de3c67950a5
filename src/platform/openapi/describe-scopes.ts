import type { OpenAPIObject } from '@nestjs/swagger';
import { operationsOf } from './operations.js';

/** Name of the one security scheme: every operation that is not public takes a bearer credential. */
export const BEARER = 'token';

const CREDENTIAL = 'An access token of this service, or a JWT of the identity provider if the operator has set one.';

/** Says in words which scopes an operation needs, because Swagger UI does not show those of bearer credentials. Markdown. */
export function scopesNote(scopes: readonly string[]): string {
  const names = scopes.map(code).join(' and ');
  return `Needs the ${scopes.length === 1 ? 'scope' : 'scopes'} ${names}, if the token is restricted to scopes.`;
}

/** Lets the security scheme tell what a bearer credential is, and for what each scope is needed. Markdown. */
export function describeScopes(document: OpenAPIObject): void {
  const needs = operationsOf(document).flatMap(({ method, path, operation }) =>
    (operation.security ?? [])
      .flatMap((schemes) => schemes[BEARER] ?? [])
      .map((scope) => ({ scope, call: code(`${method.toUpperCase()} ${path}`) })),
  );
  const byScope = [...Map.groupBy(needs, ({ scope }) => scope)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = byScope.map(([scope, calls]) => `- ${code(scope)}: ${calls.map(({ call }) => call).join(', ')}`);
  const scopes = lines.length === 0 ? [] : [`It may be restricted to scopes:\n\n${lines.join('\n')}`];
  Object.assign(document.components?.securitySchemes?.[BEARER] ?? {}, { description: [CREDENTIAL, ...scopes].join('\n\n') });
}

function code(text: string): string {
  return `\`${text}\``;
}
