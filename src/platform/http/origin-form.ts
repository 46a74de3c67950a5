import { isDecodable } from './percent-encoding.js';

/**
 * The path and query of a request target, in any form (RFC 9112, section 3.2), in a spelling that every part of the
 * application can parse. Without it Express answers some targets by itself, before authentication.
 *
 * @param target - as it stands in the request line: `/path?query`, `http://host/path`, `*`, or nonsense
 */
export function originForm(target: string): string {
  if (target.startsWith('/') && !target.includes('%')) {
    return target;
  }
  const local = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
  const [path = '', ...query] = (local.startsWith('/') ? local : `/${local}`).split(/(?=\?)/);
  return (isDecodable(path) ? path : path.replaceAll('%', '%25')) + query.join('');
}
