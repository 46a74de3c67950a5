import type { Configuration } from '../../config/configuration.js';
import { Declaration } from '../../auth/declared/declaration.js';
import { readTokensFile } from '../../auth/declared/read-tokens-file.js';
import { type Check, failed, type Finding, ok, skipped, warning } from '../check.js';

/**
 * Whether the file at `AUTH_TOKENS_FILE` could be in force.
 *
 * @param knownScopes - that routes ask for
 */
export function tokensFileCheck({ AUTH_TOKENS_FILE: path }: Configuration, knownScopes: () => readonly string[]): Check {
  return {
    name: 'auth.tokens-file',
    run: () => (path === undefined ? skipped('AUTH_TOKENS_FILE is unset') : judge(path, knownScopes())),
  };
}

async function judge(path: string, knownScopes: readonly string[]): Promise<Finding> {
  const content = await readTokensFile(path).catch((error: unknown) => error as Error);
  if (Error.isError(content)) {
    return failed(`${path} cannot be read: ${content.message}`, 'Let the service read it, or unset AUTH_TOKENS_FILE.');
  }
  const declaration = Declaration.parse(content);
  if (!(declaration instanceof Declaration)) {
    return failed(
      [`${path} is wrong:`, ...declaration.faults.map((fault) => `  ${fault}`)].join('\n'),
      'Write one name:sha256-or-token[:scopes] a line.',
    );
  }
  const found = `${path} declares ${declaration.tokens.length} token${declaration.tokens.length === 1 ? '' : 's'}`;
  const unknown = declaration.scopesBeyond(knownScopes);
  return unknown.length === 0
    ? ok(found)
    : warning(
        `${found}, and names scopes that no route asks for: ${unknown.join(', ')}`,
        `The scopes are ${[...new Set(knownScopes)].toSorted().join(', ')}.`,
      );
}
