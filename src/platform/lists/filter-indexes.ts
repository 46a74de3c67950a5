import type { Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';
import { IndexMigration } from '../database/index-migration.js';
import { SqlMigration } from '../database/sql-migration.js';
import { columnNameOf, tableNameOf } from '../database/table-name.js';
import type { Tables } from '../database/migrations.module.js';
import type { FilterDefinition } from './filter/define-filter.js';
import type { NamedField } from './filter/filter-fields.js';

/**
 * What is wrong with the indexes that filters name, each with how to fix it: the last statement of the registered migrations
 * that builds or drops an index must build it, on the table and with the column. Filters of entities that no module registered are left out.
 */
export function missingIndexes(definitions: readonly FilterDefinition[], { entities, migrations }: Tables): string[] {
  const statements = migrations
    .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
    .flatMap(statementsOf)
    .flatMap(aboutIndexes);
  return definitions
    .filter(({ entity }) => entities.includes(entity))
    .flatMap(({ entity, fields }) =>
      Object.entries(fields).flatMap(([name, { type, indexes = [] }]) =>
        indexes.flatMap((index) => faultOf(index, entity, { name, type }, statements) ?? []),
      ),
    );
}

/** The 13 digits that end the name of a migration and order it among all others. */
function placeOf(migration: Type<MigrationInterface>): string {
  return (new migration().name ?? migration.name).slice(-13);
}

function statementsOf(type: Type<MigrationInterface>): readonly string[] {
  const migration = new type();
  if (migration instanceof IndexMigration) {
    return [`CREATE INDEX ${migration.index} ${migration.definition}`];
  }
  return migration instanceof SqlMigration ? migration.statements : [];
}

/** Those of some SQL that build or drop indexes, without comments and what decides nothing about the columns. */
function aboutIndexes(sql: string): string[] {
  return sql
    .replaceAll(/--.*|\/\*[^]*?\*\//g, ' ')
    .split(';')
    .filter((statement) => /^\s*(?:CREATE\s+(?:UNIQUE\s+)?INDEX|DROP\s+INDEX)\b|\bCONSTRAINT\b/i.test(statement))
    .map((statement) => statement.replace(/\b(?:WHERE|INCLUDE)\b[^]*/i, ' '));
}

function faultOf(index: string, entity: Type, { name, type }: NamedField, statements: readonly string[]): string | undefined {
  const path = `${entity.name}.${name}`;
  const table = tableNameOf(entity) ?? entity.name;
  const column = columnNameOf(entity, name) ?? name;
  const building = statements.findLast((statement) => wordsOf(statement).has(index));
  if (building === undefined || /^\s*DROP\b/i.test(building)) {
    // Text is compared by code point, which an index in another order does not help with.
    const keys = type === 'string' ? `${column} COLLATE "C", id` : `${column}, id`;
    return `${path} names the index ${index}, which no registered migration builds: register an IndexMigration with index = '${index}' and definition = 'ON ${table} (${keys})', or correct the name.`;
  }
  const words = wordsOf(building);
  return words.has(table) && words.has(column)
    ? undefined
    : `${path} names the index ${index}, which is not one of the column ${column} of the table ${table}: name one that is.`;
}

function wordsOf(statement: string): ReadonlySet<string> {
  return new Set(statement.split(/[^\w$]+/));
}
