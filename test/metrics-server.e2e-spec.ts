import { Metrics } from '../src/platform/index.js';
import { type MeasuredService, startMeasured } from './support/scrape.js';

let service: MeasuredService;

beforeAll(async () => {
  service = await startMeasured();
});

afterAll(() => service.stop());

describe('a feature', () => {
  it('has metrics of its own, with a series for each listed label value from the start', async () => {
    const metrics = service.app.get(Metrics);
    const labels = { size: ['small', 'large'] } as const;
    const sold = metrics.counter({ name: 'items_widgets_sold_total', help: 'Widgets sold', labels });
    const packing = metrics.histogram({ name: 'items_widgets_packing_seconds', help: 'Time to pack one', labels }, [1, 5]);
    metrics.gauge({ name: 'items_widgets_in_stock', help: 'Widgets in stock', labels }, ({ size }) => size.length);
    sold.inc({ size: 'small' }, 2);
    packing.observe({ size: 'small' }, 3);
    const scrape = await service.scrape();
    const values = (name: string) => scrape.of(name).map(({ value }) => value);
    expect(values('items_widgets_sold_total')).toEqual([2, 0]);
    expect(values('items_widgets_packing_seconds_bucket')).toEqual([0, 1, 1, 0, 0, 0]);
    expect(values('items_widgets_packing_seconds_sum')).toEqual([3, 0]);
    expect(values('items_widgets_in_stock')).toEqual([5, 5]);
  });

  it('cannot take the name of another metric', () => {
    const make = () => service.app.get(Metrics).counter({ name: 'items_authentications_total', help: 'x' });
    expect(make).toThrow(/already been registered/);
  });
});

describe('the port of the metrics', () => {
  it.each([
    ['GET', '/metrics', 200],
    ['GET', '/metrics?name[]=x', 200],
    ['HEAD', '/metrics', 200],
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['POST', '/metrics', 404],
    ['POST', '/v1/items', 404],
  ])('responds to %s %s with %i', async (method, path, status) => {
    const response = await fetch(`http://127.0.0.1:${service.metricsPort}${path}`, { method });
    expect(response.status).toBe(status);
    if (status === 200) {
      expect((await response.text()).includes('items_build_info')).toBe(method === 'GET');
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    }
  });

  it('fails a scrape with a metric that cannot be read, and no other', async () => {
    const other = await startMeasured();
    let isBroken = true;
    other.app.get(Metrics).gauge({ name: 'items_broken', help: 'x' }, () => (isBroken ? Promise.reject(new Error('no')) : 1));
    const status = async () => (await fetch(`http://127.0.0.1:${other.metricsPort}/metrics`)).status;
    expect(await status()).toBe(500);
    isBroken = false;
    expect(await status()).toBe(200);
    await other.stop();
  });
});
