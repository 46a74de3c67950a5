import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { join } from 'node:path';
import * as nest from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import { SentinelConnector } from 'ioredis';
import { Client, Query } from 'pg';
import { DataSource } from 'typeorm';

const { defaultMetadataStorage } = createRequire(import.meta.url)('class-transformer/cjs/storage.js') as {
  defaultMetadataStorage: object;
};

/** What the source uses of packages beyond their documentation, so that any release can change it. */
interface Internal {
  readonly of: string;
  /** As the files of the source spell them. */
  readonly names: readonly string[];
  readonly files: readonly string[];
  /** Why there is no documented way. */
  readonly reason: string;
  /** What has them. */
  readonly owner: () => object;
}

const dataSource = new DataSource({ type: 'postgres' });

const INTERNALS: readonly Internal[] = [
  {
    of: '@nestjs/common',
    names: ['METHOD_METADATA', 'PATH_METADATA', 'ROUTE_ARGS_METADATA'],
    files: ['routes/route.ts'],
    reason: 'Nest has no public way to what a controller declares, which the checks at the start and the document need.',
    owner: () => nest,
  },
  {
    of: '@nestjs/common',
    names: ['INTERCEPTORS_METADATA', 'EXCEPTION_FILTERS_METADATA', 'RESPONSE_PASSTHROUGH_METADATA'],
    files: ['routes/outermost.ts', 'http/problem.filter.ts', 'boot/boot-checks.ts'],
    reason: 'The same for its interceptors, filters and @Res().',
    owner: () => nest,
  },
  {
    of: '@nestjs/common',
    names: ['MODULE_PATH', 'SSE_METADATA', 'REDIRECT_METADATA', 'RENDER_METADATA'],
    files: ['routes/route.ts'],
    reason: 'The same for paths of RouterModule, and for results that are no bodies.',
    owner: () => nest,
  },
  {
    of: '@nestjs/common',
    names: ['BODY', 'QUERY', 'PARAM', 'RESPONSE', 'NEXT'],
    files: ['routes/route.ts', 'boot/boot-checks.ts'],
    reason: 'The same for the parameters of a handler.',
    owner: () => RouteParamtypes,
  },
  {
    of: '@nestjs/platform-express',
    names: ['registerParserMiddleware', 'setNotFoundHandler', 'beforeClose'],
    files: ['http/express.ts'],
    reason: 'Bodies are read after the guards, the 404 is a problem, and Nest must not close before the drain is complete.',
    owner: () => new ExpressAdapter(),
  },
  {
    of: 'express',
    names: ['stack', 'caseSensitive', 'strict'],
    files: ['http/express.ts', 'http/late-routes.controller.ts'],
    reason: 'Nest has added middleware before paths can be made strict, and a 405 names the methods of a path.',
    owner: () => express().router,
  },
  {
    of: 'express',
    names: ['route', 'match'],
    files: ['http/late-routes.controller.ts'],
    reason: 'The same for each path.',
    owner: () => express().get('/', () => undefined).router.stack[0] ?? {},
  },
  {
    of: 'class-transformer',
    names: ['findTypeMetadata'],
    files: ['validation/rule.ts'],
    reason: 'Only @Type() knows the classes that its discriminator chooses. @nestjs/mapped-types reads them there, too.',
    owner: () => defaultMetadataStorage,
  },
  {
    of: 'pg',
    names: ['stream'],
    files: ['database/database-client.ts', 'database/submittable.ts'],
    reason: 'The statements of an event loop turn are one write (ADR 30).',
    owner: () => new Client().connection,
  },
  {
    of: 'pg',
    names: ['handleRowDescription', 'handleDataRow'],
    files: ['database/database-client.ts'],
    reason: 'pg converts each row, which makes a first page 1.5 times as slow. pg-cursor uses them, too.',
    owner: () => Query.prototype,
  },
  {
    of: 'pg',
    names: ['getStartupConf'],
    files: ['database/database-client.ts'],
    reason: 'The DateStyle of the session. The documented options of pg are not accepted by poolers.',
    owner: () => Client.prototype,
  },
  {
    of: 'pg',
    names: ['ssl'],
    files: ['doctor/database-checks.ts'],
    reason: 'The doctor names the certificates that pg uses.',
    owner: () => new Client(),
  },
  {
    of: 'typeorm',
    names: ['isTransactionActive', 'transactionDepth', 'isReleased'],
    files: ['database/late-runner.ts'],
    reason: 'A transaction begins at its first statement, and savepoints are those of TypeORM.',
    owner: () => dataSource.createQueryRunner(),
  },
  {
    of: 'typeorm',
    names: ['connectedQueryRunners', 'isInitialized', 'subscribers'],
    files: ['database/app-data-source.ts'],
    reason: 'TypeORM can neither close after a failed start nor start again with the subscribers of Nest.',
    owner: () => Object.assign({}, dataSource, dataSource.driver),
  },
  {
    of: 'ioredis',
    names: ['sentinelIterator'],
    files: ['throttling/sentinels.ts'],
    reason: 'ioredis asks only the rest of the Sentinels for each further connection.',
    owner: () => new SentinelConnector({ sentinels: [{ host: '127.0.0.1', port: 1 }], name: 'main' }),
  },
  {
    of: 'node',
    names: ['requireHostHeader', 'joinDuplicateHeaders', 'shouldUpgradeCallback'],
    files: ['http/http-connections.ts'],
    reason: 'They are options of a server that Nest creates.',
    owner: () => createServer(),
  },
  {
    of: 'node',
    names: ['_destroy', 'destroySoon'],
    files: ['bodies/read-body.ts', 'http/express.ts'],
    reason: 'A request that is not read to its end must still get its response.',
    owner: () => new Socket(),
  },
];

const source = (file: string) => readFile(join('src/platform', file), 'utf8');

it.each(INTERNALS)('$of still has $names, which $files use', async ({ names, files, owner }) => {
  const texts = (await Promise.all(files.map(source))).join('');
  expect(names.filter((name) => !RegExp(String.raw`\b${name}\b`).test(texts))).toEqual([]);
  const object = owner();
  expect(names.filter((name) => !(name in object))).toEqual([]);
});

it('the source imports nothing else that packages do not document', async () => {
  const files = (await readdir('src', { recursive: true })).filter((file) => /(?<!\.spec)\.ts$/.test(file));
  const texts = await Promise.all(files.map((file) => readFile(join('src', file), 'utf8')));
  const deep = texts.flatMap((text) =>
    [...text.matchAll(/(?:from |import\()'((?:@[^/']+\/)?[^@#.:/'][^:/']*\/[^']+)'/g)].map(([, path]) => path),
  );
  expect([...new Set(deep)].toSorted()).toEqual([
    '@electric-sql/pglite/contrib/pg_trgm',
    '@electric-sql/pglite/node-postgres',
    '@marcbachmann/cel-js/evaluator',
    '@nestjs/common/constants.js',
    '@nestjs/common/enums/route-paramtypes.enum.js',
    'ajv/dist/2020.js',
  ]);
});
