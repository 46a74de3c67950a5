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
    const named = this.scanner.getAllMethodNames(handlers).flatMap((method) => handlers[method] ?? []);
    return named
      .filter((handler) => Reflect.getMetadata(PATH_METADATA, handler) !== undefined)
      .map((handler) => ({ controller, handler }));
  }
}
