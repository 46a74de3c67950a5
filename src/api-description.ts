import type { ApiDescription } from './platform/openapi/build-openapi-document.js';

/** What clients read first, in Swagger UI and in `openapi.json`. */
export const apiDescription: ApiDescription = {
  title: 'Items Service',
  version: '1.0.0',
  description: `Manages a collection of items: list them page by page, create new ones.

**Authentication.** Send a token with every request, \`Authorization: Bearer <token>\`: an access token of this service, or a JWT of
the identity provider if the operator has set one. One that is restricted to scopes is answered 403 by operations that need others.

**Rate limit.** Each token may make 100 requests in any 60 seconds, over all operations together, unless the operator has
set another limit: \`RateLimit-Policy\` tells it, and \`RateLimit\` how many requests are left. A refused request is answered
429 with \`Retry-After\` and does not count.

**Errors** are problem details (RFC 9457). Their \`type\` leads to an [explanation](docs/problems).

**Versioning.** \`/v1\` changes only by addition. Deprecation is announced at least 12 months ahead with the \`Deprecation\`
and \`Sunset\` headers.`,
};
