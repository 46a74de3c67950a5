import { Module } from '@nestjs/common';
import { LibraryModule } from './fixtures/library/library.module.js';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { describeContract, type Row } from './support/describe-contract.js';
import { OrdersModule } from './support/orders.js';
import { SamplesModule } from './support/samples.js';

@Module({ imports: [SamplesModule, OrdersModule, WidgetsModule, LibraryModule] })
class OtherTeamsModule {}

const { FUZZ_REQUESTS = '2500' } = process.env;
const others = { root: OtherTeamsModule, requests: Number(FUZZ_REQUESTS) / 12 };

describeContract('/v1/items', { requests: Number(FUZZ_REQUESTS) });
// Features that items do not use: constraints, updates, and rows that belong to other rows.
describeContract('/v1/widgets', others);
// Its table has another name.
describeContract('/v1/samples', { ...others, table: 'sample_rows' });
// Bodies of all media types, objects within lists, headers, and responses that are not JSON.
describeContract('/v1/orders', { ...others, open: ['POST /v1/orders/events'] });

const byTitle = ({ title: a, id }: Row, { title: b, id: other }: Row) =>
  Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b))) || (id < other ? -1 : 1);
describeContract('/v1/books', { ...others, order: byTitle });
describeContract('/v1/books/{id}/loans', {
  ...others,
  body: (count) => ({ borrower: `Reader ${count}`, days: 1 + (count % 60) }),
  at: async (api) => {
    const { body } = await api.callWith<Row>('POST', '/v1/books', { title: 'Middlemarch', copies: 1_000_000 });
    return `/v1/books/${body.id}/loans`;
  },
});
