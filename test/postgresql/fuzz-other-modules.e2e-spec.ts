import type { Type } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { createApp } from '../../src/app.js';
import { ItemsModule } from '../../src/items/items.module.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { OpenApiDocument } from '../../src/platform/openapi/openapi-document.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import type { Document } from '../support/contract.js';
import { describeFuzz, REQUESTS } from '../fuzz/support/describe-fuzz.js';
import { SamplesModule } from '../support/samples.js';

// What the platform gives to modules of other teams: constraints that the items do not have.

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule] })
class AppWithWidgetsModule {}

/** The document of an application, which need not be started for that. */
async function documentOf(root: Type): Promise<Document> {
  const app = await createApp(readConfiguration({ LOG_LEVEL: 'silent' }), root);
  const document = app.get(OpenApiDocument).get();
  await app.close();
  // As clients see it.
  return JSON.parse(JSON.stringify(document)) as Document;
}

for (const [collection, root] of [
  ['/v1/widgets', AppWithWidgetsModule],
  ['/v1/samples', SamplesModule],
] as const) {
  describeFuzz(await documentOf(root), root, collection, REQUESTS / 8);
}
