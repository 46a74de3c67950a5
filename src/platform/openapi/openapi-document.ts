import { type INestApplication, Injectable } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { nameOf, parametersOf, type Route } from '../routes/route.js';
import { completeBodies } from './complete-bodies.js';
import { BEARER, describeOperations } from './describe-operations.js';
import { documentRules } from './documented-properties.js';
import type { Operation } from './operations.js';
import { headers, schemas } from './platform-components.js';
import { operationIdOf, sectionsOf } from './route-documentation.js';

/** What the document says of the service as a whole: a sentence of plain text as `summary`, Markdown as `description`. */
export type ApiDescription = Record<'title' | 'summary' | 'description' | 'version', string>;

/** The OpenAPI 3.1 document of all features. What the platform adds to every route is added here to every operation. */
@Injectable()
export class OpenApiDocument {
  private document: OpenAPIObject | undefined;
  private operations: ReadonlyMap<Route['handler'], Operation> = new Map();

  /** @param routes - of the application, which the boot checks have let through */
  build(app: INestApplication, info: ApiDescription, routes: readonly Route[]): void {
    const builder = new DocumentBuilder()
      .setOpenAPIVersion('3.1.0')
      .addServer('/')
      .addBearerAuth({ type: 'http', scheme: 'bearer' }, BEARER)
      .addSecurityRequirements(BEARER);
    sectionsOf(routes).forEach((section) => builder.addTag(section.title, section.description));
    const base = builder.build();
    // The builder does not know `summary` yet, which is of OpenAPI 3.1.
    Object.assign(base.info, info);
    for (const { type, data } of routes.flatMap(parametersOf)) {
      if (type && data === undefined) {
        documentRules(type);
      }
    }
    const ids = new Map(routes.map((route) => [nameOf(route), operationIdOf(route)]));
    const operationIdFactory = (controller: string, method: string) => ids.get(`${controller}.${method}`) ?? method;
    const document = SwaggerModule.createDocument(app, base, { operationIdFactory });
    document.components = { ...document.components, schemas: { ...document.components?.schemas, ...schemas }, headers };
    this.operations = describeOperations(document, routes);
    completeBodies(document);
    this.document = document;
  }

  get(): OpenAPIObject {
    if (!this.document) {
      throw new Error('The OpenAPI document is served before it was built.');
    }
    return this.document;
  }

  /** What a handler responds with by status; nothing for one that the document leaves out. */
  responsesOf(handler: Route['handler']): Operation['responses'] {
    return this.operations.get(handler)?.responses ?? {};
  }
}
