import { Injectable, type Type } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { Route } from './route.js';

/** The routes of all modules of the application. */
@Injectable()
export class Routes {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  all(): Route[] {
    return this.discovery.getControllers().flatMap(({ metatype }) => (metatype ? this.routesOf(metatype as Type) : []));
  }

  private routesOf(controller: Type): Route[] {
    const handlers = controller.prototype as Record<string, Route['handler']>;
    return this.scanner.getAllMethodNames(handlers).flatMap((name) => {
      const handler = handlers[name];
      return handler && Reflect.getMetadata(PATH_METADATA, handler) !== undefined ? [{ controller, handler, name }] : [];
    });
  }
}
