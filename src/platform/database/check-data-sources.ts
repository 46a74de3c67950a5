import type { DynamicModule, ForwardReference, Provider, Type } from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { OperatorError } from '../errors/operator-error.js';
import { DatabaseModule } from './database.module.js';

/** The imports of a module that are searched. Others, such as the promise of a module, are left to Nest. */
type Import = Type | (DynamicModule & Partial<ForwardReference<() => Import>>) | undefined;

/**
 * Rejects a second default data source: it would connect, and might change the schema, before anything else is checked.
 *
 * @throws OperatorError with the module that has it
 */
export function checkDataSources(root: Type): void {
  const visited = new Set<unknown>([DatabaseModule]);
  const visit = (given: Import, importer: Type): void => {
    const found = typeof given === 'object' && given.forwardRef ? given.forwardRef() : given;
    const { module, imports = [], providers = [] } = typeof found === 'object' ? found : { module: found };
    if (!module || visited.has(found)) {
      return;
    }
    visited.add(found);
    if (providers.some(isDefaultDataSource)) {
      const remedy = 'remove it, because the platform has the data source, or give another database a `name`.';
      throw new OperatorError(`${importer.name} imports TypeOrmModule.forRoot(): ${remedy}`);
    }
    const own = (Reflect.getMetadata(MODULE_METADATA.IMPORTS, module) ?? []) as Import[];
    for (const each of [...own, ...(imports as Import[])]) visit(each, module === TypeOrmModule ? importer : module);
  };
  visit(root, root);
}

function isDefaultDataSource(provider: Provider): boolean {
  return 'provide' in provider && provider.provide === getDataSourceToken();
}
