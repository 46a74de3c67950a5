import type { Type } from '@nestjs/common';
import { type ModuleRef, ModulesContainer } from '@nestjs/core';
import { getRepositoryToken } from '@nestjs/typeorm';
import { type DataSource, type MigrationInterface, Repository } from 'typeorm';
import { MIGRATIONS } from './migrations.js';

/** The entities and migrations that the modules of an application register with `forFeature`. */
export function registeredClasses(module: ModuleRef, { options }: DataSource) {
  const modules = [...module.get(ModulesContainer, { strict: false }).values()];
  const tokens = new Set(modules.flatMap(({ providers }) => Array.from(providers.keys())));
  // `all` has entities of other applications in this process, too, and classes with one name share a token.
  const all = (options.entities ?? []) as Parameters<typeof getRepositoryToken>[0][];
  const entities = all.filter((entity) => {
    const token = getRepositoryToken(entity);
    const repositories: unknown[] = tokens.has(token) ? module.get(token, { strict: false, each: true }) : [];
    // Any other object is the mock of a test.
    return repositories.some((repository) => !(repository instanceof Repository) || repository.target === entity);
  });
  const migrations = module.get<Type<MigrationInterface>[]>(MIGRATIONS, { strict: false, each: true }).flat();
  return { entities, migrations: [...new Set(migrations)] };
}
