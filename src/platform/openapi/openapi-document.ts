import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';

/** Holds the application's OpenAPI document, which can be made only once the application is put together. */
@Injectable()
export class OpenApiDocument {
  private document: OpenAPIObject | undefined;

  set(document: OpenAPIObject): void {
    this.document = document;
  }

  get(): OpenAPIObject {
    if (!this.document) {
      throw new Error('The OpenAPI document is served before it was built.');
    }
    return this.document;
  }
}
