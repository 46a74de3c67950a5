import { TOKEN_PREFIX } from './platform/auth/token-format.js';
import type { ApiDescription } from './platform/openapi/build-document.js';

/** Texts for the landing page, the console and `openapi.json`. */
export const apiDescription: ApiDescription = {
  title: 'Items Service',
  summary: 'Manages a collection of items: list them page by page, create new ones.',
  version: '2.0.0',
  contact: { name: 'The operator of this service' },
  license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
  description: `## First steps

1. **Authorize.** Press *Authorize* and paste an access token, \`${TOKEN_PREFIX}…\`. The operator of the service issues
   tokens; the first start on the embedded database prints one.
2. **Create.** Open *Create an item* and press *Execute*.
3. **List.** Open *List items* and press *Execute*.
4. **Filter.** Choose an example at \`filter\` and press *Execute*. Then write your own.

## All operations

**Authentication.** Send a token with every request: \`Authorization: Bearer <token>\`. It is an access token of this
service, or a JWT if the operator has configured an identity provider. A token can be restricted to scopes: operations that
need others respond with 403.

**Rate limit.** Each token has 100 requests in any 60 seconds, over all operations, unless the operator has set another
limit for all tokens or for yours. \`RateLimit-Policy\` has the limit, \`RateLimit\` the requests left. A request beyond the
limit gets 429 with \`Retry-After\` and does not count.

**Bodies** are JSON objects in UTF-8 of at most 64 KiB, 32 levels, and 100 names and elements. A byte order mark is
ignored, and of equal names the last one counts. Texts must have no U+0000 and no lone surrogate; they are stored byte for
byte.

**Errors** are problem details (RFC 9457). \`/docs/problems\` explains each \`type\`.

**Versioning.** \`/v1\` changes only by addition. Deprecations are announced at least 12 months ahead, in the
\`Deprecation\` and \`Sunset\` headers of every response of the operation.`,
};
