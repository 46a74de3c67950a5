import { type INestApplication, Injectable } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ValidationTypes } from 'class-validator';
import { FAULT_CODES } from '../http/problem.js';
import { nameOf, parametersOf, type Route } from '../routes/route.js';
import { codeOf } from '../validation/input-faults.js';
import { collectRules, type rulesOf } from '../validation/rule.js';
import { completeBodies } from './complete-bodies.js';
import { BEARER, describeOperations } from './describe-operations.js';
import { documentRules } from './documented-properties.js';
import type { Operation } from './operations.js';
import { headers, platformSchemas } from './platform-components.js';
import { operationIdOf, sectionsOf } from './route-documentation.js';

/** Title and description of the API. */
export interface ApiDescription {
  readonly title: string;
  /** One sentence of plain text. */
  readonly summary: string;
  /** Markdown. The console shows the first section above the operations, the others below them. */
  readonly description: string;
  readonly version: string;
  readonly contact: { readonly name: string };
  /** The `identifier` is an SPDX expression. */
  readonly license: { readonly name: string; readonly identifier: string };
}

/** The OpenAPI 3.1 document of all features, with the platform's part of every operation. */
@Injectable()
export class OpenApiDocument {
  private document: OpenAPIObject | undefined;
  private operations: ReadonlyMap<Route['handler'], Operation> = new Map();

  /** @param routes - routes that passed the startup checks */
  build(app: INestApplication, info: ApiDescription, routes: readonly Route[]): void {
    const builder = new DocumentBuilder()
      .setOpenAPIVersion('3.1.0')
      .addServer('/')
      .addSecurity(BEARER, { type: 'http', scheme: 'bearer' })
      .addSecurityRequirements(BEARER);
    sectionsOf(routes).forEach((section) => builder.addTag(section.title, section.description));
    const base = builder.build();
    // The builder does not know `summary` and `license.identifier`, which are new in OpenAPI 3.1.
    Object.assign(base.info, info);
    const inputs = routes.flatMap(parametersOf).flatMap(({ type, data }) => (type && data === undefined ? type : []));
    inputs.forEach(documentRules);
    const collected = new Map<unknown, ReturnType<typeof rulesOf>>();
    inputs.forEach((type) => collectRules(type, collected));
    const rules = [...collected.values()].flat().filter(({ type }) => type === ValidationTypes.CUSTOM_VALIDATION);
    const codes = [...new Set([...Object.keys(FAULT_CODES), ...rules.map(({ name = '' }) => codeOf(name))])].toSorted();
    const ids = new Map(routes.map((route) => [nameOf(route), operationIdOf(route)]));
    const operationIdFactory = (controller: string, method: string) => ids.get(`${controller}.${method}`) ?? method;
    const document = SwaggerModule.createDocument(app, base, { operationIdFactory });
    document.components = {
      ...document.components,
      schemas: { ...document.components?.schemas, ...platformSchemas(codes) },
      headers,
    };
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

  /** The documented responses of a handler by status; empty for a hidden handler. */
  responsesOf(handler: Route['handler']): Operation['responses'] {
    return this.operations.get(handler)?.responses ?? {};
  }
}
