import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { Module } from '@nestjs/common';
import { createContext } from '#service/app';
import { readConfiguration } from '#service/platform/config/read-configuration';
import { Database } from '#service/platform/database/database';
import { PlatformModule } from '#service/platform/platform.module';

// The tables of the platform and of items alone: features of tests have tables that other features may have as well.
/** @type {string} Not a literal: a service without the example has no such module. */
const items = '#service/items/items.module';
/** @type {import('@nestjs/common').Type[]} */
const features = [];
if (existsSync('dist/items')) {
  const { ItemsModule } = /** @type {{ ItemsModule: import('@nestjs/common').Type }} */ (await import(items));
  features.push(ItemsModule);
}

// oxlint-disable-next-line typescript/no-extraneous-class -- decorated by a call: this is JavaScript
class TemplateModule {}
Module({ imports: [PlatformModule, ...features] })(TemplateModule);

const [, , DATA_DIR = ''] = process.argv;
const app = await createContext(readConfiguration({ DATA_DIR, LOG_LEVEL: 'error' }), TemplateModule);
await app.get(Database).migrate();
await app.close();
