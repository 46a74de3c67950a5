import { Metrics } from '../src/platform/index.js';
import { type MeasuredService, startMeasured } from './support/scrape.js';

let service: MeasuredService;

beforeAll(async () => {
  service = await startMeasured();
});

afterAll(() => service.stop());

describe('a feature', () => {
  it('has metrics of its own, whose labels have no other values than it declared', async () => {
    const metrics = service.app.get(Metrics);
    const sold = metrics.counter({
      name: 'items_widgets_sold_total',
      help: 'Widgets sold',
      labels: { size: ['small', 'large'] },
    });
    metrics.gauge({ name: 'items_widgets_in_stock', help: 'Widgets in stock' }, () => 7);
    sold.inc({ size: 'small' });
    for (let size = 0; size < 100; size += 1) sold.inc({ size: `size ${size}` as 'small' });
    const scrape = await service.scrape();
    const values = scrape.of('items_widgets_sold_total').map(({ labels, value }) => [labels['size'], value]);
    expect(values).toEqual([
      ['small', 1],
      ['large', 0],
      ['other', 100],
    ]);
    expect(scrape.sum('items_widgets_in_stock')).toBe(7);
  });

  it.each([
    ['requests_total', /must begin with items_/],
    ['items_Requests_total', /lower-case words/],
    ['items_requests', /end in _total/],
    ['items_build_info_total', undefined],
    ['items_readiness_changes_total', /already been registered/],
  ])('that names a counter %s is told', (name, message) => {
    const make = () => service.app.get(Metrics).counter({ name, help: 'x' });
    if (message) {
      expect(make).toThrow(message);
    } else {
      expect(make).not.toThrow();
    }
  });

  it('cannot make thousands of time series', () => {
    const values = Array.from({ length: 40 }, String);
    const labels = { a: values, b: values };
    expect(() => service.app.get(Metrics).counter({ name: 'items_many_total', help: 'x', labels })).toThrow(/more than 1000/);
  });
});

describe('the port of the metrics', () => {
  it.each([
    ['GET', '/metrics', 200],
    ['GET', '/metrics?name[]=x', 200],
    ['HEAD', '/metrics', 200],
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['POST', '/metrics', 405],
    ['POST', '/v1/items', 404],
  ])('answers %s %s with %i', async (method, path, status) => {
    const response = await fetch(`http://127.0.0.1:${service.metricsPort}${path}`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([status, status === 405 ? 'GET, HEAD' : null]);
    expect((await response.text()) !== '').toBe(status === 200 && method === 'GET');
    if (status === 200) {
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    }
  });

  it('leaves out a metric that cannot be read, and tells the others', async () => {
    const other = await startMeasured();
    const metrics = other.app.get(Metrics);
    metrics.gauge({ name: 'items_throwing', help: 'x' }, () => {
      throw new Error('no');
    });
    metrics.gauge({ name: 'items_failing', help: 'x' }, () => Promise.reject(new Error('no')));
    metrics.gauge({ name: 'items_hanging', help: 'x' }, () => new Promise(() => undefined));
    const scrapes = await Promise.all(Array.from({ length: 20 }, () => other.scrape()));
    for (const scrape of scrapes) expect(scrape.text).toBe(scrapes[0]?.text);
    expect([...(scrapes[0]?.types.keys() ?? [])]).toEqual(expect.arrayContaining(['items_ready', 'items_build_info']));
    expect(scrapes[0]?.text).not.toMatch(/items_(?:throwing|failing|hanging)/);
    expect((await other.scrape()).sum('items_metrics_read_failures_total')).toBeGreaterThanOrEqual(3);
    await other.stop();
  });
});
