import type { Api, ItemBody } from './support/api.js';
import { invalidBodies, otherEncodings, otherValues, validBodies, validStrings, validValues } from './support/json-texts.js';
import { ServiceProcess } from './support/process.js';
import { createEmbedded } from './support/test-database.js';
import { declareToken } from './support/tokens.js';

let service: ServiceProcess;
let api: Api;

beforeAll(async () => {
  const { environment } = await createEmbedded();
  const { token, variables } = await declareToken();
  service = await ServiceProcess.startReady({ ...environment, ...variables });
  api = service.client(token);
});

/** The status of a response, with where and of which kind each fault is. */
async function outcomeOf(body: string | Buffer): Promise<[status: number, faults: (string | undefined)[][] | undefined]> {
  const { status, body: problem } = await api.post(body as RequestInit['body']);
  return [status, problem.errors?.map(({ pointer, code }) => [pointer, code])];
}

/** Bodies whose outcome is another one. */
async function exceptions(bodies: readonly (string | Buffer)[], ...expected: [number, string[][]?]): Promise<object[]> {
  const wrong: object[] = [];
  for (const body of bodies) {
    const outcome = await outcomeOf(body);
    if (JSON.stringify(outcome) !== JSON.stringify(expected)) wrong.push({ body: String(body), outcome });
  }
  return wrong;
}

describe('JSON that RFC 8259 allows', () => {
  it('has its strings stored byte for byte, and returned so', async () => {
    const values = validStrings.map(([, value]) => value);
    const created: string[] = [];
    for (const [literal] of validStrings) {
      const { status, body } = await api.post<ItemBody>(`{"name":${literal},"description":${literal}}`);
      expect([status, body.description]).toEqual([201, body.name]);
      created.push(body.name);
    }
    expect(created).toEqual(values);
    const { body } = await api.list({ limit: String(values.length) });
    expect(body.items.map(({ name }) => name)).toEqual(values.toReversed());
  });

  it('makes items, with any white space, escapes in names, and the last of equal names', async () => {
    for (const body of validBodies) expect(await api.post(body)).toMatchObject({ status: 201, body: { name: 'x' } });
  });

  it('is read as a value of each kind before its property is refused', async () => {
    const bodies = validValues.map((value) => `{"name":"x","other":${value}}`);
    const outcomes = await Promise.all(bodies.map(outcomeOf));
    for (const [status, [first] = []] of outcomes) expect([status, first]).toEqual([400, ['/other', 'unknown']]);
  });

  it('is refused as a body if it is no object', async () => {
    expect(await exceptions(otherValues, 400, [['', 'not_object']])).toEqual([]);
  });
});

describe('JSON that RFC 8259 forbids', () => {
  it(`is refused as such: ${invalidBodies.length} bodies`, async () => {
    expect(await exceptions(invalidBodies, 400, [['', 'syntax']])).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['arrays without an end', '['.repeat(60_000), 'too_deep'],
    ['objects without an end', '{"":'.repeat(16_000), 'too_deep'],
    ['arrays and objects without an end', '[{"":'.repeat(13_000), 'too_deep'],
    ['nothing', '', 'required'],
  ])('is refused at once: %s', async (_case, body, code) => {
    expect(await outcomeOf(body)).toEqual([400, [['', code]]]);
  });
});

describe('JSON that RFC 8259 leaves open', () => {
  it('is refused unless it is UTF-8', async () => {
    expect(await exceptions(otherEncodings, 400, [['', 'charset']])).toEqual([]);
  });

  it('may begin with a byte order mark', async () => {
    expect(await api.post('\uFEFF{"name":"x"}')).toMatchObject({ status: 201, body: { name: 'x' } });
  });

  it.each([
    '\\uD800',
    '\\uDC00',
    '\\uDd1ea',
    '\\uD888\\u1234',
    '\\uD800\\uD800\\n',
    'a\\uD83D',
    '\\uDE00\\uD83D',
    '\\u0000',
  ])('must have no %s in a text', async (escape) => {
    expect(await outcomeOf(`{"name":"${escape}"}`)).toEqual([400, [['/name', 'character']]]);
  });

  it.each(
    '1e400 -1e400 0.4e00669999999999999999999999999999999999999999999999999999999999999999999999999999999999999999 1e-400'.split(
      ' ',
    ),
  )('may have numbers that no double holds: %s', async (number) => {
    expect(await outcomeOf(`{"name":${number}}`)).toEqual([400, [['/name', 'type']]]);
  });

  it('may have numbers of any length', async () => {
    for (const number of ['9'.repeat(60_000), `0.${'1'.repeat(60_000)}`, `-1e${'9'.repeat(60_000)}`]) {
      expect(await outcomeOf(`{"name":${number}}`)).toEqual([400, [['/name', 'type']]]);
    }
  });

  it('may be nested 32 levels deep', async () => {
    const nested = (levels: number) => `{"name":"x","other":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect(await outcomeOf(nested(32))).toEqual([400, [['/other', 'unknown']]]);
    expect(await outcomeOf(nested(33))).toEqual([400, [['', 'too_deep']]]);
    expect(await outcomeOf(nested(500))).toEqual([400, [['', 'too_deep']]]);
  });
});

it('no body was a fault of the service', async () => {
  expect(service.linesOf('request failed')).toEqual([]);
  expect((await api.list()).status).toBe(200);
});
