import type { ApiDescription } from './platform/openapi/openapi-document.js';

/** What clients read first, on the landing page, in Swagger UI and in `openapi.json`. */
export const apiDescription: ApiDescription = {
  title: 'Items Service',
  summary: 'Manages a collection of items: list them page by page, create new ones.',
  version: '1.0.0',
  description: `## First steps

Everything below can be tried in the [console](docs); the examples work as they are.

1. **Authorize.** Press _Authorize_ and paste an access token, which the operator of the service issues. The browser keeps it
   until you press _Logout_ in the same place.
2. **Create.** Open _Create an item_ and press _Execute_. The answer holds the \`id\` and the time of creation.
3. **List.** Open _List items_ and press _Execute_. While the answer has a \`nextCursor\`, there are more pages: pass it as \`cursor\`.
4. **Filter.** Choose one of the examples at \`filter\`, execute, then write your own.

Below each answer are its headers, above it the same call for curl.

## What holds everywhere

**Authentication.** Send a token with every request, \`Authorization: Bearer <token>\`: an access token of this service, or a JWT of
the identity provider if the operator has set one. One that is restricted to scopes is answered 403 by operations that need others.

**Rate limit.** Each token may make 100 requests in any 60 seconds, over all operations together, unless the operator has
set another limit: \`RateLimit-Policy\` tells it, and \`RateLimit\` how many requests are left. A refused request is answered
429 with \`Retry-After\` and does not count.

**Errors** are problem details (RFC 9457). Their \`type\` leads to an [explanation](docs/problems).

**Versioning.** \`/v1\` changes only by addition. Deprecation is announced at least 12 months ahead with the \`Deprecation\`
and \`Sunset\` headers.`,
};
