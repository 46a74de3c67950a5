import { jest } from '@jest/globals';
import { Controller, Get, Module, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { Client } from 'pg';
import { Repository } from 'typeorm';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { Item } from '../../src/items/item.entity.js';
import { ItemDto, ItemPage, ItemsQuery } from '../../src/items/items.dto.js';
import { DatabaseMetrics } from '../../src/platform/database/database-metrics.js';
import { Lists, mapPage, Operation, type Page, Public } from '../../src/platform/index.js';
import { PageReader } from '../../src/platform/lists/page-reader.js';
import { connectTo } from '../support/connect.js';
import { startService } from '../support/service.js';
import { makeFilterSlow, SLOW_FILTER } from '../support/slow-filter.js';
import { allowSlowMachine } from '../support/slow-machine.js';
import { databaseUrlOf } from '../support/test-database.js';
import { useService } from '../support/use-service.js';

@Controller('open-items')
class OpenItemsController {
  constructor(
    @InjectRepository(Item) private readonly items: Repository<Item>,
    private readonly lists: Lists,
  ) {}

  @Get()
  @Public()
  @Operation({ summary: 'List items without a token', response: ItemPage, responseDescription: 'One page of items.' })
  async list(@Query() query: ItemsQuery): Promise<Page<ItemDto>> {
    return mapPage(await this.lists.findPage(this.items, query), ItemDto.from);
  }
}

@Module({ imports: [PlatformModule, ItemsModule, TypeOrmModule.forFeature([Item])], controllers: [OpenItemsController] })
class OpenItemsModule {}

const limits = { FILTER_BUDGET: '0.35', FILTER_TIMEOUT: '0.4', TRUSTED_PROXIES: '127.0.0.1,::1' };
const service = useService(() => startService(limits, undefined, OpenItemsModule));
let client: Client;

beforeAll(async () => {
  client = await connectTo(databaseUrlOf(service.database));
});

afterEach(() => {
  jest.restoreAllMocks();
});

it('get another plan once a page is not quick any more, as the first one was', async () => {
  allowSlowMachine();
  const patient = await startService({}, undefined, OpenItemsModule);
  for (let count = 0; count < 50; count += 1) await patient.api.create({ name: `lamp ${count}` });
  const reads = patient.app.get(PageReader);
  const sent = jest.spyOn(patient.app.get(DatabaseMetrics), 'observe');
  const plans = () => sent.mock.calls.filter(([text]) => text.startsWith('EXPLAIN')).length;
  const page = { filter: 'name.contains("lamp")', limit: '20' };
  const { body: first } = await patient.api.list(page);
  expect(plans()).toBe(0);
  // As if it took too long.
  jest.spyOn(reads, 'quickly').mockImplementationOnce((_repository, path) => {
    if (path) path.isQuick = false;
    return Promise.resolve(undefined);
  });
  const { body: second } = await patient.api.list({ ...page, cursor: first.nextCursor ?? '' });
  expect(plans()).toBe(1);
  // A path that is known is not kept for longer because it is used.
  const kept = jest.spyOn(reads.paths, 'set');
  jest.spyOn(reads, 'quickly').mockResolvedValueOnce(undefined);
  const { body: third } = await patient.api.list({ ...page, cursor: second.nextCursor ?? '' });
  expect(plans()).toBe(1);
  expect(kept).not.toHaveBeenCalled();
  expect([first, second, third].map(({ items }) => items.length)).toEqual([20, 20, 10]);
  await patient.stop();
});

it('of clients without a token take the time of their address, or of its network of IPv6 [filter-budget-public]', async () => {
  await makeFilterSlow(client, 20_000);
  const list = async (filter: string, address: string) => {
    const target = `${service.api.origin}/v1/open-items?filter=${encodeURIComponent(filter)}`;
    return (await fetch(target, { headers: { 'X-Forwarded-For': address } })).status;
  };
  expect(await list(SLOW_FILTER, '192.0.2.1')).toBe(400);
  expect(await list('name == "new"', '192.0.2.1')).toBe(429);
  expect(await list('name == "new"', '192.0.2.2')).toBe(200);
  expect(await list(SLOW_FILTER, '2001:db8::1')).toBe(400);
  expect(await list('name == "newer"', '2001:db8::2')).toBe(429);
  expect(await list('name == "newer"', '2001:db8:0:1::1')).toBe(200);
});

it('take the time of their token although their first source is quick [filter-budget]', async () => {
  // Newer than those in which the filter looks for long.
  await client.query(`
    INSERT INTO items SELECT (lpad(to_hex(1798761600000 + n), 12, '0') || '70008' || lpad('', 15, '0'))::uuid, 'x', NULL
    FROM generate_series(1, 12000) n`);
  const token = await service.newClient();
  // As of matches that an index finds, all of them old.
  const path = { first: 'recent', isQuick: true, isIndexed: true } as const;
  jest.spyOn(service.app.get(PageReader).paths, 'get').mockReturnValue({ ...path });
  const statuses = [await token.list({ filter: SLOW_FILTER }), await token.list({ filter: SLOW_FILTER })];
  expect(statuses.map(({ status }) => status)).toEqual([400, 429]);
});
