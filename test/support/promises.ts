import { randomUUID } from 'node:crypto';
import { AppModule } from '../../src/app.module.js';
import type { Type } from '@nestjs/common';
import { Api, type Answer, type ProblemBody } from './api.js';
import { Contract, examplesOf, type Operation } from './contract.js';
import { startMeasured } from './scrape.js';
import { type Service, startService } from './service.js';

interface Row {
  id: string;
  [property: string]: unknown;
}

interface Page {
  items: Row[];
  nextCursor?: string;
}

/** Tests what the platform promises of a collection, such as `/v1/items`: what must be known of it is in its own document. */
export function describePromises(path: string, root: Type = AppModule): void {
  describe(`${path} keeps what the platform promises`, () => {
    let service: Service;
    let contract: Contract;
    let list: Operation;
    let create: Operation;
    let body: Record<string, unknown>;
    let created = 0;

    beforeAll(async () => {
      service = await startService({}, undefined, root);
      contract = await Contract.read(service.api.origin);
      list = contract.operation('get', path);
      create = contract.operation('post', path);
      const [example] = Object.values(create.requestBody?.content ?? {}).flatMap(examplesOf);
      body = example as Record<string, unknown>;
    });

    afterAll(() => service.stop());

    /** The example, with texts of its own each time: some may have to be unique. */
    const newBody = () => {
      created += 1;
      const { properties } = contract.bodyOf(create);
      const changed = (name: string, value: unknown) => {
        const { enum: words, format } = properties[name] ?? {};
        return typeof value === 'string' && !words && !format ? `${value} ${created}` : value;
      };
      return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, changed(name, value)]));
    };
    const read = async <Body = Page>(query: string) => checked(list, await service.api.call<Body>('GET', `${path}?${query}`));
    const add = async <Body = ProblemBody>(value: unknown, headers: Record<string, string> = {}) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      const init = { body: text, headers: { 'Content-Type': 'application/json', ...headers } };
      return checked(create, await service.api.call<Body>('POST', path, init));
    };
    /** Every answer must be one that the document describes. */
    const checked = <Body>(operation: Operation, answer: Answer<Body>): Answer<Body> => {
      expect(contract.faultsOfAnswer(operation, answer)).toEqual([]);
      return answer;
    };

    it.each(['GET', 'POST', 'DELETE'])('%s needs a token', async (method) => {
      const init = method === 'POST' ? { body: '{' } : {};
      const { status, headers } = await service.api.send(method, path, init);
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="items"']);
      const stranger = new Api(service.api.origin, 'items_mistyped');
      expect((await stranger.call(method, path, init)).headers.get('www-authenticate')).toContain('error="invalid_token"');
    });

    it('needs the scopes that it documents', async () => {
      for (const operation of [list, create]) {
        const method = operation === list ? 'GET' : 'POST';
        const scopes = operation.security?.[0]?.token ?? [];
        expect(scopes.length).toBeGreaterThan(0);
        expect(operation.description).toContain(`Needs the scope \`${scopes.join('` and `')}\`, if`);
        const restricted = await service.newClient('restricted', { scopes: ['something:else'] });
        const refused = checked(operation, await restricted.call(method, path));
        expect([refused.status, refused.body.type]).toEqual([403, '/docs/problems#insufficient-scope']);
        const challenge = `Bearer realm="items", error="insufficient_scope", scope="${scopes.join(' ')}"`;
        expect(refused.headers.get('www-authenticate')).toBe(challenge);
        const granted = await service.newClient('granted', { scopes });
        expect((await granted.call(method, path)).status).toBe(method === 'GET' ? 200 : 400);
      }
    });

    it('names every fault of a body by its pointer', async () => {
      const { properties, required = [] } = contract.bodyOf(create);
      const missing = await add({ nothingThatAnyoneDeclared: 1 });
      expect([missing.status, missing.body.type]).toEqual([400, '/docs/problems#invalid-body']);
      expect(missing.body.errors?.map(({ pointer, code }) => `${pointer} ${code}`).toSorted()).toEqual(
        [...required.map((name) => `/${name} required`), '/nothingThatAnyoneDeclared unknown'].toSorted(),
      );
      for (const name of Object.keys(properties)) {
        const { status, body: problem } = await add({ ...newBody(), [name]: { of: 'another type' } });
        expect([status, problem.errors?.map(({ pointer }) => pointer)]).toEqual([400, [`/${name}`]]);
      }
      for (const text of ['', '{', '[]', '{"a":1,"a":2}']) expect((await add(text)).status).toBe(400);
      expect((await add('x'.repeat(70_000))).status).toBe(413);
    });

    it('refuses queries that it does not know', async () => {
      for (const query of ['colour=red', 'limit=0', 'limit=101', 'limit=1&limit=2', 'cursor=nothing', 'filter=(']) {
        const { status, body: problem } = await read<ProblemBody>(query);
        expect([status, problem.errors?.map(({ parameter }) => parameter)]).toEqual([400, [query.split('=')[0]]]);
      }
    });

    it('tells which methods it has', async () => {
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        const { status, headers, body: problem } = await service.api.call(method, path);
        expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
        expect(problem.type).toBe('/docs/problems#method-not-allowed');
      }
    });

    it('creates what a walk then meets exactly once, newest first, whatever is created meanwhile', async () => {
      const rows: Row[] = [];
      for (let index = 0; index < 12; index += 1) {
        const { status, body: row } = await add<Row>(newBody());
        expect(status).toBe(201);
        rows.unshift(row);
      }
      const seen: Row[] = [];
      let cursor: string | undefined;
      do {
        const { body: page } = await read(`limit=5${cursor ? `&cursor=${cursor}` : ''}`);
        expect(page.items.length).toBeLessThanOrEqual(5);
        seen.push(...page.items);
        cursor = page.nextCursor;
        await add(newBody());
      } while (cursor);
      expect(seen).toEqual(rows);
    });

    it('lists by filters, those of its documentation among them', async () => {
      const { examples = {} } = list.parameters?.find(({ name }) => name === 'filter') ?? {};
      expect(Object.keys(examples).length).toBeGreaterThan(1);
      for (const { value } of Object.values(examples)) {
        expect((await read(new URLSearchParams({ filter: value }).toString())).status).toBe(200);
      }
      const errors = [{ parameter: 'filter', code: 'unknown_field', start: 0, end: 7 }];
      expect(await read('filter=nothing+==+1')).toMatchObject({ status: 400, body: { errors } });
      expect(await read('filter=createdAt+%3C+timestamp("2000-01-01T00:00:00Z")')).toMatchObject({ body: { items: [] } });
    });

    it('carries a create with a key out once', async () => {
      const key = { 'Idempotency-Key': randomUUID() };
      const request = newBody();
      const first = await add<Row>(request, key);
      const again = await add<Row>(request, key);
      expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect((await add(newBody(), key)).status).toBe(422);
      expect((await read('limit=1')).body.items).toEqual([first.body]);
    });

    it('is documented whole, with examples that are valid', async () => {
      expect(await contract.validate()).toEqual({ valid: true });
      for (const operation of [list, create]) {
        expect([operation.summary, operation.operationId]).toEqual([expect.any(String), expect.any(String)]);
        expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '401', '403', '429', '503']));
        const parts = [operation.requestBody, ...Object.values(operation.responses)];
        for (const media of parts.flatMap((part) => Object.values(part?.content ?? {}))) {
          const examples = examplesOf(media);
          expect(examples.length).toBeGreaterThan(0);
          expect(examples.flatMap((example) => contract.faultsOf(media, example))).toEqual([]);
        }
      }
    });

    it('counts requests by token, and measures them', async () => {
      const measured = await startMeasured({ RATE_LIMIT: '2' }, root);
      const answers: Answer<ProblemBody>[] = [];
      for (const method of ['GET', 'POST', 'GET']) answers.push(await measured.api.call(method, path));
      const scrape = await measured.scrape();
      await measured.stop();
      expect(answers.map(({ status }) => status)).toEqual([200, 400, 429]);
      expect(answers.slice(2).flatMap((answer) => contract.faultsOfAnswer(list, answer))).toEqual([]);
      expect(Number(answers[2]?.headers.get('retry-after'))).toBeGreaterThan(0);
      for (const labels of [
        { method: 'GET', status: '200' },
        { method: 'POST', status: '400' },
        { method: 'GET', status: '429' },
      ]) {
        expect(scrape.sum('items_http_request_duration_seconds_count', { route: path, ...labels })).toBe(1);
      }
    });
  });
}
