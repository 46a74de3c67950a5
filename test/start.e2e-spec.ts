import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { startApp } from '../src/bootstrap.js';
import { AppModule } from '../src/app.module.js';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { Configuration } from '../src/platform/config/configuration.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { Database } from '../src/platform/database/database.js';
import { failureText } from '../src/platform/errors/operator-error.js';
import { MetricsServer } from '../src/platform/observability/metrics-server.js';
import { runCommand } from './support/commands.js';
import { preload } from './support/doctor.js';
import { listen } from './support/listen.js';
import { runCli, runServiceToEnd, serverDefaults, ServiceProcess } from './support/process.js';
import { eventually } from './support/eventually.js';
import { createEmbedded, createTestDatabase, testDirectory } from './support/test-database.js';
import { declareToken } from './support/tokens.js';

@Module({ imports: [AppModule] })
class FailingModule implements OnModuleInit {
  constructor(
    private readonly moduleRef: ModuleRef,
    private readonly host: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    this.host.httpAdapter.close = () => {
      // Nest does not get there.
      this.moduleRef.get(MetricsServer, { strict: false }).onApplicationShutdown();
      throw new Error('not closed');
    };
    throw new Error('no seed');
  }
}

describe('the first start', () => {
  it('creates the database even after one that was cut short, and prints a token and two curl commands that work [first-start-token]', async () => {
    const directory = await mkdtemp(join(testDirectory(), 'first-start-'));
    const DATA_DIR = join(directory, 'made', 'by', 'the', 'service');
    const interrupted = ServiceProcess.spawn({ DATA_DIR });
    await eventually(() => existsSync(join(DATA_DIR, 'postgresql.unfinished')));
    expect(await interrupted.end('SIGKILL')).toBeNull();
    expect(existsSync(join(DATA_DIR, 'postgresql'))).toBe(false);

    const first = await ServiceProcess.start({ DATA_DIR, RATE_LIMITT: 'canary', REDIS_URI: 'canary' });
    const messages = first.log.map(({ msg }) => msg).join('\n');
    expect(messages).toMatch(/(?=.*REDIS_URI \(did you mean REDIS_URL\?\))(?=.*RATE_LIMITT \(did you mean RATE_LIMIT\?\))/);
    expect(messages).not.toContain('canary');
    await eventually(() => first.has('first start'));
    const [{ quickstart = {} } = {}] = first.linesOf('first start') as { quickstart?: Record<string, string> }[];
    const { address = '', token = '', create = '', list = '' } = quickstart;
    expect([first.origin, token]).toEqual([
      address.replace('localhost', '127.0.0.1'),
      expect.stringMatching(/^items_\w{36}$/),
    ]);
    expect(await run(list)).toEqual({ items: [] });
    const created = await run(create);
    expect(created).toMatchObject({ name: 'Blue bicycle', description: 'Seven gears, one bell.' });
    expect(await run(list)).toEqual({ items: [created] });
    const [{ console: page } = {}] = first.log.filter(({ msg }) => msg.startsWith('Listening on ')) as {
      console?: string;
    }[];
    expect(page).toBe(`${address}/docs`);
    // The warning about misspelt variables is not part of an idle start.
    expect(first.log.filter(({ level, msg }) => level !== 'warn' && msg !== 'request').map(({ msg }) => msg)).toEqual([
      'applying migrations',
      'database ready',
      `Listening on ${address}`,
      'token.issued',
      'first start',
    ]);
    expect((await first.client(token).call('GET', '/v1/items?filter=%ff')).status).toBe(400);
    expect((await first.client(token).call('GET', '/v1/items%ff')).status).toBe(404);
    const { body } = await first.client(token).create({ name: 'kept' });
    expect(await first.end('SIGTERM')).toBe(0);

    const second = await ServiceProcess.start({ DATA_DIR });
    expect([second.has('first start'), second.output.stdout.includes('items_')]).toEqual([false, false]);
    expect((await second.client(token).list()).body.items).toEqual([body, created]);
    expect(await second.end('SIGINT')).toBe(0);
  });

  it('prints the address, the token and both commands as one block on a terminal [first-start-token]', async () => {
    const service = ServiceProcess.spawn({ ...(await createEmbedded()).environment, LOG_FORMAT: 'pretty' });
    await eventually(() => service.output.stdout.includes('List:'));
    const [, token = ''] = /Token +(items_\w{36})$/m.exec(service.output.stdout) ?? [];
    const [, address = ''] = /Address +(http:\/\/localhost:\d+)$/m.exec(service.output.stdout) ?? [];
    const commands = service.output.stdout.split('\n').filter((line) => line.startsWith('    curl '));
    expect(commands).toEqual([expect.stringContaining(' -d '), expect.not.stringContaining(' -d ')]);
    for (const command of commands) {
      expect(command).toMatch(new RegExp(`curl -H "Authorization: Bearer ${token}" .*${address}/v1/items$`));
    }
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('issues no token if LOG_LEVEL would hide it, and keeps no lock or setting of the migrations', async () => {
    const DATA_DIR = join(testDirectory(), 'start', 'silent');
    const app = await startApp(readConfiguration({ ...serverDefaults, DATA_DIR, LOG_LEVEL: 'warn' }));
    expect(await app.get(AccessTokensService).list()).toEqual([]);
    // The service has one session of the embedded database, in which the migrations ran.
    const kept = `SELECT locktype AS kept FROM pg_locks WHERE locktype = 'advisory'
      UNION ALL SELECT name FROM pg_settings WHERE source = 'session'`;
    expect(await app.get(DataSource).query(kept)).toEqual([]);
    await app.close();
  });
});

describe('the address of HOST', () => {
  const AWAY = { DATABASE_URL: 'postgres://127.0.0.1:1/items' };
  const isOpen = (url: string) =>
    fetch(url).then(
      () => true,
      () => false,
    );

  it.each([
    ['127.0.0.2', '127.0.0.2', 'localhost'],
    ['::1', '[::1]', '127.0.0.1'],
  ])(
    '%s takes requests to the API, and no other does; metrics and probes are on all [host-address]',
    async (HOST, name, other) => {
      const service = ServiceProcess.spawn({ HOST, ...AWAY });
      await service.becomes(() => service.has('Listening on '));
      const line = service.log.find(({ msg }) => msg.startsWith('Listening on '));
      const [, port = ''] = /:(\d+)$/.exec(String(line?.['address'])) ?? [];
      const origin = `http://${name}:${port}`;
      expect(line).toMatchObject({ msg: `Listening on ${origin}`, address: origin, console: `${origin}/docs` });
      expect([await isOpen(`${origin}/livez`), await isOpen(`http://${other}:${port}/livez`)]).toEqual([true, false]);
      const { port: metricsPort } = new URL(String(line?.['metrics']));
      for (const each of [name, '127.0.0.1']) expect(await isOpen(`http://${each}:${metricsPort}/livez`)).toBe(true);
      expect(await service.end('SIGTERM')).toBe(0);
    },
  );

  it.each(['0.0.0.0', '::'])('%s takes requests to all addresses', async (HOST) => {
    const app = await startApp(readConfiguration({ ...serverDefaults, LOG_LEVEL: 'silent', HOST, ...AWAY }));
    const { port } = app.getHttpServer().address() as AddressInfo;
    expect(await isOpen(`http://127.0.0.3:${port}/livez`)).toBe(true);
    await app.close();
  });

  it('may have a port that another server uses on another address', async () => {
    const port = await listen(createServer());
    const { environment } = await createEmbedded();
    const variables = { ...serverDefaults, LOG_LEVEL: 'silent', HOST: '127.0.0.4', PORT: String(port), ...environment };
    const app = await startApp(readConfiguration(variables));
    expect(await isOpen(`http://127.0.0.4:${port}/livez`)).toBe(true);
    await app.close();
  });
});

describe('a data directory', () => {
  it('belongs to one process: a second one refuses to start, and nothing is lost [embedded-one-process]', async () => {
    const database = await createEmbedded();
    const { token, variables } = await declareToken();
    const environment = { ...database.environment, ...variables };
    const first = await ServiceProcess.start(environment);
    const client = first.client(token);
    const { body: created } = await client.create({ name: 'kept' });
    const second = await runServiceToEnd(database.environment);
    expect([second.code, second.stdout]).toEqual([1, '']);
    expect(second.stderr.trim()).toBe(
      `Another process is using the data directory ${environment.DATA_DIR}. Stop it first, choose another directory with ` +
        'DATA_DIR, or use a PostgreSQL server with DATABASE_URL.',
    );
    expect((await runCli(['token', 'list'], environment)).code).toBe(1);
    expect((await client.list()).body.items).toEqual([created]);
    await first.end('SIGKILL');

    const heir = await ServiceProcess.start(environment);
    expect((await heir.client(token).list()).body.items).toEqual([created]);
    expect(await heir.end('SIGTERM')).toBe(0);
  });
});

it('has a module that stands alone: it finds its configuration in the environment', async () => {
  const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
  expect(module.get(Configuration)).toMatchObject({ PORT: 3000, RATE_LIMIT: 100 });
});

it('names configureApp() if a test or script starts an application without it', async () => {
  Object.assign(process.env, (await createTestDatabase()).environment);
  const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
  const app = module.createNestApplication({ logger: false });
  await expect(app.init()).rejects.toThrow('Call configureApp(app) of src/app.ts before app.init() or app.listen().');
  await app.close();
});

/** What a start that fails says: in this process, because other tests show that this is printed, and ends a process. */
async function failureOf(environment: NodeJS.ProcessEnv): Promise<string> {
  const start = async () => {
    const variables = { ...serverDefaults, LOG_LEVEL: 'silent', ...environment };
    const app = await startApp(readConfiguration(variables));
    try {
      await app.get(Database).started;
    } finally {
      await app.close();
    }
  };
  return start().then(() => 'nothing', failureText);
}

describe('a start that cannot succeed', () => {
  it('names every fault of the configuration and ends with code 1 [settings-all-faults]', async () => {
    const { code, stdout, stderr } = await runServiceToEnd({
      PORT: 'http',
      RATE_LIMIT: '-5',
      DATABASE_URL: 'oracle://u:hunter2@h/d',
      AUTH_TOKENS_FILE: '/none',
    });
    expect([code, stdout]).toEqual([1, '']);
    for (const name of ['PORT', 'RATE_LIMIT', 'DATABASE_URL', 'AUTH_TOKENS_FILE', '.env.example'])
      expect(stderr).toContain(name);
    expect(stderr).not.toMatch(/hunter2|oracle|none|\bat /);
  });

  it('says that Node is too old, and what to do', async () => {
    const older = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "24.99.0" } })';
    const { code, stderr } = await runServiceToEnd(preload(older));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^This is Node\.js 24\.99\.0, .*`npm run start:prod`/)]);
  });

  it('reports its own error, also if closing fails, which is logged', async () => {
    const log = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const database = await createTestDatabase();
    const configuration = readConfiguration({ ...serverDefaults, ...database.environment, LOG_LEVEL: 'silent' });
    await expect(startApp(configuration, FailingModule)).rejects.toThrow('no seed');
    expect(log).toHaveBeenCalledWith({ msg: 'closing failed', err: new Error('not closed') });
    log.mockRestore();
    await database.drop();
  });

  it.each(['PORT', 'METRICS_PORT'])('says that the port of %s is in use, before it creates a database', async (variable) => {
    const port = await listen(createServer());
    const DATA_DIR = join(testDirectory(), 'start', variable);
    const { code, stderr } = await runServiceToEnd({ [variable]: String(port), DATA_DIR });
    const message = `Port ${port} is in use. Stop the process that listens on it, or choose another port with ${variable}.\n`;
    expect([code, stderr, existsSync(DATA_DIR)]).toEqual([1, message, false]);
  });

  it.each(['192.0.2.1', '2001:db8::1', 'fe80::1'])('says that %s is not an address of this machine', async (HOST) => {
    const DATA_DIR = join(testDirectory(), 'start', HOST);
    const message = 'HOST is not an address of this machine: choose one of its addresses, or unset HOST to use all.';
    expect([await failureOf({ HOST, DATA_DIR }), existsSync(DATA_DIR)]).toEqual([message, false]);
  });

  it.each([
    ['HOST', 'localhost', 'must be an IP address of this machine like 127.0.0.1 or ::1'],
    ['CORS_ORIGINS', '*', 'must be a comma-separated list, each part an origin like https://shop.example'],
    ['PUBLIC_URL', '/catalog', 'must be a URL like https://api.example.com/catalog'],
    ['API_DOCS', 'no', 'must be true or false'],
  ])('says what %s=%s has to be', async (name, value, fix) => {
    expect(await failureOf({ [name]: value })).toContain(`\n  ${name} ${fix}`);
  });

  it.each([
    ['/proc/x', 'no directory can be created there. Mount a volume there'],
    ['/sys/x', `user ${process.getuid?.()} has no permission to write there. Give the directory to this user`],
    ['/dev/null/x', 'a part of its path is not a directory. Move it'],
  ])('says that DATA_DIR=%s cannot be used: %s', async (DATA_DIR, fault) => {
    const message = `The data directory ${DATA_DIR} cannot be used: ${fault}, or choose another directory with DATA_DIR.`;
    expect(await failureOf({ DATA_DIR })).toBe(message);
    const migrated = await runCommand(['migrate'], { DATA_DIR });
    expect([migrated.code, migrated.stdout, migrated.stderr]).toEqual([1, '', `${message}\n`]);
  });
});

/** Sends the request of a curl command, since curl may not be installed. @returns the body of the response */
async function run(command: string): Promise<unknown> {
  const [, header = '', json, url = ''] =
    /^curl -H "([^"]+)" (?:-H 'Content-Type: application\/json' -d '([^']+)' )?(\S+)$/.exec(command) ?? [];
  const [name = '', value = ''] = header.split(': ');
  const post = json === undefined ? {} : { method: 'POST', body: json };
  const headers = { [name]: value, 'Content-Type': 'application/json' };
  return (await fetch(url.replace('localhost', '127.0.0.1'), { headers, ...post })).json();
}

it('loads nothing that it does not need: that is what the time of a start goes into', async () => {
  const NODE_V8_COVERAGE = await mkdtemp(join(testDirectory(), 'loaded-'));
  const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' };
  const service = await ServiceProcess.start({ DATABASE_URL: 'postgres://127.0.0.1:1/items', NODE_V8_COVERAGE, ...tracing });
  await fetch(`${service.origin}/livez`);
  expect(await service.end('SIGTERM')).toBe(0);
  const [file = ''] = await readdir(NODE_V8_COVERAGE);
  const { result } = JSON.parse(await readFile(join(NODE_V8_COVERAGE, file), 'utf8')) as { result: { url: string }[] };
  const files = result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  const packages = new Set(files.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []));
  expect(packages).toContain('typeorm');
  expect(files.length).toBeLessThan(2800);
  const onDemand = ['ajv', 'ioredis', 'pino-pretty', '@electric-sql/pglite', '@opentelemetry/sdk-trace'];
  expect(onDemand.filter((name) => packages.has(name))).toEqual([]);
});
