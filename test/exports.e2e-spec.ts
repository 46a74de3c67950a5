import { type EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Module } from '@nestjs/common';
import { getDataSourceToken, getRepositoryToken } from '@nestjs/typeorm';
import type { Client, Submittable } from 'pg';
import { from, to } from 'pg-copy-streams';
import { DataSource, type Repository } from 'typeorm';
import { PlatformModule } from '../src/platform/platform.module.js';
import { Database } from '../src/platform/index.js';
import { ExportModule, Reading } from './fixtures/export/export.module.js';
import { eventually, startService } from './support/service.js';
import { createEmbedded } from './support/test-database.js';
import { useService } from './support/use-service.js';

@Module({ imports: [PlatformModule, ExportModule] })
class AppModule {}

const service = useService(() => startService({ DATABASE_POOL_SIZE: '2' }, undefined, AppModule));
let readings: Repository<Reading>;

beforeAll(async () => {
  readings = service.app.get<Repository<Reading>>(getRepositoryToken(Reading));
  await fill(3000);
});

/** Adds rows of 1,000 bytes, so that many fill all buffers on the way to a client. */
async function fill(rows: number): Promise<void> {
  const sql = `INSERT INTO readings (sensor, value) SELECT repeat('"', 500), n / 4.0 FROM generate_series(1, $1::integer) n`;
  await readings.query(sql, [rows]);
}

/** Requests the export, and reads nothing of it. */
async function exported(): Promise<IncomingMessage> {
  const options = { headers: service.api.authorization, port: service.port, path: '/v1/readings/export', agent: false };
  const [response] = (await once(get(options), 'response')) as [IncomingMessage];
  return response;
}

it('sends all rows of a query in its order, as they are read', async () => {
  const response = await fetch(`${service.api.origin}/v1/readings/export`, { headers: service.api.authorization });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/csv']);
  const [head, ...lines] = (await response.text()).split('\r\n');
  expect([head, lines.length, lines.at(-1)]).toEqual(['sensor,value', 3001, '']);
  expect(lines.slice(0, 3000).map((line) => line.split(',')[1])).toEqual(
    Array.from({ length: 3000 }, (_, n) => String((n + 1) / 4)),
  );
});

it('frees the connection when the client is gone [stream-of-gone-client]', async () => {
  await fill(30_000);
  for (let time = 0; time < 5; time += 1) {
    const response = await exported();
    await once(response, 'readable');
    response.destroy();
  }
  // Until the last one is freed, there is a 503.
  await eventually(async () => {
    let length = 0;
    for await (const chunk of await exported()) length += (chunk as Buffer).length;
    return length > 30_000_000;
  });
});

it('rejects a query that fails, before a response [stream-error]', async () => {
  const failing = readings.createQueryBuilder('r').select('1 / (r.id - r.id)').stream();
  await expect(failing).rejects.toThrow('division by zero');
  expect(await readings.count()).toBeGreaterThan(0);
});

it('releases the connection of a stream that fails once', async () => {
  const runner = service.app.get(DataSource).createQueryRunner();
  let releases = 0;
  const release = () => {
    releases += 1;
    return runner.release();
  };
  const late = 'SELECT 1 / (5000 - n) AS share FROM generate_series(1, 10000) n';
  const rows = await runner.stream(late, [], release, release);
  await expect(rows.toArray()).rejects.toThrow('division by zero');
  await eventually(() => Promise.resolve(releases > 0));
  expect(releases).toBe(1);
});

it('refuses a second stream of one query runner, whose transaction the first would end', async () => {
  const runner = readings.manager.dataSource.createQueryRunner();
  const rows = await runner.stream('SELECT 1 AS one');
  await expect(runner.stream('SELECT 2 AS two')).rejects.toThrow('The query runner streams already');
  expect(await rows.toArray()).toEqual([{ one: 1 }]);
  await runner.release();
});

const MANY = 'SELECT n FROM generate_series(1, 5000) n';

it('ends the transaction of a stream that is left, before its connection is used again [stream-left]', async () => {
  const { dataSource } = readings.manager;
  const left = { sensor: 'after a stream', value: -3 };
  for (let time = 0; time < 4; time += 1) {
    const runner = dataSource.createQueryRunner();
    for await (const row of await runner.stream(MANY)) {
      expect(row).toEqual({ n: 1 });
      break;
    }
    await runner.release();
    const [{ begun }] = await dataSource.query<[{ begun: boolean }]>('SELECT now() <> statement_timestamp() AS begun');
    expect(begun).toBe(false);
    await readings.insert({ ...left });
  }
  // Of each connection.
  expect(await Promise.all([readings.countBy(left), readings.countBy(left)])).toEqual([4, 4]);
});

it('sends all rows of a runner that is released at their end', async () => {
  const runner = readings.manager.dataSource.createQueryRunner();
  const release = () => runner.release();
  const rows = await runner.stream(MANY, [], release, release);
  expect(await rows.toArray()).toHaveLength(5000);
});

it('leaves the outer transaction usable if a nested one fails while it reads [stream-left]', async () => {
  const database = service.app.get(Database);
  const left = { sensor: 'outer', value: -4 };
  await database.transaction(async () => {
    await readings.insert({ ...left });
    const nested = database.transaction(async () => {
      await using runner = readings.manager.dataSource.createQueryRunner();
      for await (const row of await runner.stream(MANY)) throw new Error(`left at ${JSON.stringify(row)}`);
    });
    await expect(nested).rejects.toThrow('left at {"n":1}');
    await readings.insert({ ...left });
  });
  expect(await readings.countBy(left)).toBe(2);
});

it('says that the embedded database has no COPY', async () => {
  const embedded = await createEmbedded();
  const own = await startService({}, embedded);
  const runner = own.app.get<DataSource>(getDataSourceToken()).createQueryRunner();
  const client = (await runner.connect()) as Client;
  for (const copy of [to('COPY items TO STDOUT'), from('COPY items FROM STDIN')]) {
    const failed = once(client.query<Submittable & EventEmitter>(copy), 'none');
    await expect(failed).rejects.toThrow('has no COPY: use a PostgreSQL server with DATABASE_URL');
  }
  await runner.release();
  await own.stop();
});

it('reads in the current transaction, beside other statements', async () => {
  const names: string[] = [];
  await service.app.get(Database).transaction(async () => {
    await readings.insert(['a', 'b'].map((sensor) => ({ sensor, value: -1 })));
    const query = readings
      .createQueryBuilder('r')
      .select('r.sensor', 'sensor')
      .where('r.value = :value', { value: -1 })
      .orderBy('r.id');
    for await (const row of await query.stream()) {
      const { sensor } = row as unknown as Reading;
      await readings.update({ sensor }, { value: -2 });
      names.push(sensor);
    }
  });
  expect(names).toEqual(['a', 'b']);
  expect(await readings.countBy({ value: -2 })).toBe(2);
});
