import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { Client } from 'pg';
import { from, to } from 'pg-copy-streams';
import QueryStream from 'pg-query-stream';
import type { DataSource } from 'typeorm';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { ExportModule } from '../fixtures/export/export.module.js';
import { query } from '../support/query.js';
import { eventually, type Service, startService } from '../support/service.js';
import { databaseUrlOf } from '../support/test-database.js';
import { useService } from '../support/use-service.js';

@Module({ imports: [PlatformModule, ExportModule] })
class AppModule {}

const ROWS = 40_000;
/** More than all buffers on the way to a client hold. */
const FILL = `INSERT INTO readings (sensor, value) SELECT repeat('x', 1000), n FROM generate_series(1, ${ROWS}) n`;

const start = (environment: NodeJS.ProcessEnv) =>
  startService({ DATABASE_POOL_SIZE: '4', DATABASE_STATEMENT_TIMEOUT: '1', ...environment }, undefined, AppModule);

/** Requests the export, and reads only its head. */
async function exported(service: Service): Promise<IncomingMessage> {
  const options = { headers: service.api.authorization, port: service.port, path: '/v1/readings/export', agent: false };
  const [response] = (await once(get(options), 'response')) as [IncomingMessage];
  return response;
}

/** Sessions of the service that have a transaction or a statement. */
async function busy({ database }: Service): Promise<unknown[]> {
  const sql = `SELECT state, query FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'items' AND state <> 'idle'`;
  return query(databaseUrlOf(database), sql);
}

describe('an export', () => {
  const service = useService(() => start({}));

  beforeAll(() => query(databaseUrlOf(service.database), FILL));

  it('may take longer than a statement', async () => {
    const response = await exported(service);
    await once(response, 'readable');
    // The time limits of a statement, on the server and here.
    await delay(2500);
    expect(await busy(service)).toHaveLength(1);
    expect((await text(response)).split('\r\n')).toHaveLength(ROWS + 2);
    await eventually(async () => (await busy(service)).length === 0);
  });

  it('leaves half of the connections to others, and frees its own when the client is gone [streams-at-once] [streams-beyond] [stream-of-gone-client]', async () => {
    const running = [await exported(service), await exported(service)];
    const { status, headers } = await service.api.call('GET', '/v1/readings/export');
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect(await busy(service)).toHaveLength(2);
    for (const response of running) response.destroy();
    await eventually(async () => (await busy(service)).length === 0);
    expect((await text(await exported(service))).length).toBeGreaterThan(ROWS * 1000);
  });
});

it('an export whose client reads too slowly ends, and frees the connection [stream-time]', async () => {
  const service = await start({ DATABASE_STREAM_TIMEOUT: '1' });
  await query(databaseUrlOf(service.database), FILL);
  const response = await exported(service);
  await eventually(async () => (await busy(service)).length === 0);
  await expect(text(response)).rejects.toThrow('aborted');
  await service.stop();
});

describe('on a connection of TypeORM', () => {
  const service = useService(() => start({ DATABASE_POOL_SIZE: '1' }));

  beforeAll(() => query(databaseUrlOf(service.database), FILL));

  /** Runs work with the only connection of the pool. */
  async function withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const runner = service.app.get<DataSource>(getDataSourceToken()).createQueryRunner();
    try {
      return await work((await runner.connect()) as Client);
    } finally {
      await runner.release();
    }
  }

  it('COPY reads and writes rows, also when others were not awaited', async () => {
    const lines = Readable.from(Array.from({ length: 5000 }, (_, index) => `copied\t${index}\n`));
    const copied = await withClient(async (client) => {
      const slow = client.query('SELECT pg_sleep(0.1)');
      await pipeline(lines, client.query(from('COPY readings (sensor, value) FROM STDIN')));
      await slow;
      return text(client.query(to("COPY (SELECT value FROM readings WHERE sensor = 'copied' ORDER BY value) TO STDOUT")));
    });
    expect(copied.trim().split('\n')).toEqual(Array.from({ length: 5000 }, (_, index) => String(index)));
    expect((await withClient((client) => client.query('SELECT 1 AS one'))).rows).toEqual([{ one: 1 }]);
  });

  it('COPY keeps its connection while a statement waits behind it', async () => {
    await withClient(async (client) => {
      await client.query('BEGIN');
      const copy = client.query(from('COPY readings (sensor, value) FROM STDIN'));
      const behind = client.query('SELECT pg_sleep(0.1)');
      await pipeline(Readable.from(['behind\t1\n']), copy);
      await behind;
      await client.query('COMMIT');
      expect((await client.query("SELECT value FROM readings WHERE sensor = 'behind'")).rows).toEqual([{ value: 1 }]);
    });
  });

  it('COPY fails with the error of the database, and leaves the connection usable', async () => {
    await withClient(async (client) => {
      await expect(text(client.query(to('COPY nothing TO STDOUT')))).rejects.toThrow('relation "nothing" does not exist');
      const wrong = pipeline(Readable.from(['x\n']), client.query(from('COPY readings (value) FROM STDIN')));
      await expect(wrong).rejects.toThrow('invalid input syntax');
      expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    });
  });

  it('COPY that is left before its end does not block the pool', async () => {
    await withClient(async (client) => {
      const rows = client.query(to('COPY readings TO STDOUT'));
      await once(rows, 'readable');
      rows.destroy();
      await once(rows, 'close');
    });
    await eventually(async () => (await busy(service)).length === 0);
    expect((await withClient((client) => client.query('SELECT 1 AS one'))).rows).toEqual([{ one: 1 }]);
  });

  it('pg-query-stream reads rows, and no time limit hits the statements after it', async () => {
    await withClient(async (client) => {
      const rows = client.query(new QueryStream('SELECT n FROM generate_series(1, 1000) n'));
      expect(await rows.toArray()).toHaveLength(1000);
      await delay(2500);
      expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    });
  });
});
