import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { completeBodies } from './complete-bodies.js';
import { describePlatformAnswers } from './platform-answers.js';
import { headers, schemas } from './platform-components.js';

const DESCRIPTION = `Manages a collection of items: list them page by page, create new ones.

**Authentication.** Send an access token with every request: \`Authorization: Bearer <token>\`.

**Rate limit.** Each token may make 100 requests in any 60 seconds, over all operations together. Every answer tells how many
are left (\`RateLimit\`); a refused request is answered 429 with \`Retry-After\` and does not count.

**Errors** are problem details (RFC 9457). Their \`type\` leads to an [explanation](docs/problems).

**Versioning.** \`/v1\` changes only by addition. Deprecation is announced at least 12 months ahead with the \`Deprecation\`
and \`Sunset\` headers.`;

/**
 * The OpenAPI 3.1 document of all features of an application. Routes say what only they know, with \`@Operation\`; what the
 * platform adds to every route is added here to every operation.
 */
export function buildOpenApiDocument(app: INestApplication): OpenAPIObject {
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Items Service')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .addServer('/')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An access token, `items_…`.' }, 'token')
    .addSecurityRequirements('token')
    .build();
  const document = SwaggerModule.createDocument(app, base, { operationIdFactory: (_controller, method) => method });
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, ...schemas },
    headers,
  };
  describePlatformAnswers(document);
  completeBodies(document);
  return document;
}
