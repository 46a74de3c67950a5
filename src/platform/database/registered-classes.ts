import type { Type } from '@nestjs/common';
import { type ModuleRef, ModulesContainer } from '@nestjs/core';
import { getRepositoryToken } from '@nestjs/typeorm';
import type { DataSource, MigrationInterface } from 'typeorm';
import { MIGRATIONS } from './migrations.js';

/** The entities and migrations that the modules of an application register with `forFeature`. */
export function registeredClasses(module: ModuleRef, { options }: DataSource) {
  const modules = [...module.get(ModulesContainer, { strict: false }).values()];
  const tokens = new Set(modules.flatMap(({ providers }) => Array.from(providers.keys())));
  // `@nestjs/typeorm` adds those of other applications in this process.
  const all = (options.entities ?? []) as Parameters<typeof getRepositoryToken>[0][];
  const entities = all.filter((entity) => tokens.has(getRepositoryToken(entity)));
  const migrations = module.get<Type<MigrationInterface>[]>(MIGRATIONS, { strict: false, each: true }).flat();
  return { entities, migrations: [...new Set(migrations)] };
}
