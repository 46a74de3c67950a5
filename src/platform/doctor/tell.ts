import { hideCredentials } from '../auth/hide-credentials.js';

const HIDDEN = '***';

/** Shorter ones are found in words by chance, and whoever has such a password has told it already. */
const SHORTEST_SECRET = 4;

/** Passwords in a URL: before the host, and among the parameters. */
const PASSWORDS = [/:\/\/[^:/?#]*:([^@/]*)@/g, /[?&](?:\w*[Pp]assword)=([^&#]*)/g];

/**
 * Makes of a text what may be shown on a terminal: without the passwords of a configuration, which no finding has a reason
 * to contain, but what others say may; without tokens and without characters that terminals obey.
 *
 * @param variables - the values of the configuration, be they right or wrong
 */
export function teller(variables: readonly string[]): (text: string) => string {
  const written = variables.flatMap((value) =>
    PASSWORDS.flatMap((pattern) => [...value.matchAll(pattern)].map(([, word = '']) => word)),
  );
  const secrets = [...new Set([...written, ...written.map(decoded)])]
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .toSorted((a, b) => b.length - a.length);
  return (text) => {
    const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
    return hideCredentials(hidden).replaceAll(/[^\P{C}\n]/gu, '\u{fffd}');
  };
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
