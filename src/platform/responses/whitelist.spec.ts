import type { Schema, Schemas } from '../openapi/openapi-document.js';
import { whitelistOf } from './whitelist.js';

const text: Schema = { type: 'string' };
const schemas: Schemas = {
  Person: { type: 'object', properties: { name: text, born: { type: 'string', format: 'date-time' } } },
  Loan: {
    type: 'object',
    properties: {
      title: text,
      borrower: { $ref: '#/components/schemas/Person' },
      next: { $ref: '#/components/schemas/Loan' },
    },
  },
  Late: { allOf: [{ $ref: '#/components/schemas/Loan' }, { type: 'object', properties: { days: { type: 'integer' } } }] },
  Nothing: { type: 'object', properties: {} },
};
const named = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const copied = (schema: Schema, value: unknown) => {
  const copy: unknown = whitelistOf([schema], schemas)(value);
  return copy === undefined ? undefined : (JSON.parse(JSON.stringify(copy)) as unknown);
};

class Row {
  readonly secret = 'x';
  readonly first = 'Ada';

  get name(): string {
    return this.first;
  }
}

const person = { name: 'Ada', secret: 'x' };

it.each<[string, Schema, unknown, unknown]>([
  ['own properties', named('Person'), person, { name: 'Ada' }],
  ['getters of a class', named('Person'), new Row(), { name: 'Ada' }],
  ['times', named('Person'), { born: new Date(0), secret: 'x' }, { born: '1970-01-01T00:00:00.000Z' }],
  ['an invalid time as JSON has it', named('Person'), { born: new Date(NaN) }, { born: null }],
  ['null', named('Loan'), { title: null, borrower: null, next: undefined }, { title: null, borrower: null }],
  ['what is nested', named('Loan'), { borrower: person, secret: 'x' }, { borrower: { name: 'Ada' } }],
  [
    'what contains itself',
    named('Loan'),
    { next: { next: { title: 'T', secret: 'x' } } },
    { next: { next: { title: 'T' } } },
  ],
  ['lists', { type: 'array', items: named('Person') }, [person, null], [{ name: 'Ada' }, null]],
  ['all of several', named('Late'), { days: 1, title: 'T', secret: 'x' }, { days: 1, title: 'T' }],
  ['any of several', { anyOf: [named('Person'), named('Late')] }, { days: 1, ...person }, { days: 1, name: 'Ada' }],
  ['one of several lists', { oneOf: [text, { type: 'array', items: named('Person') }] }, [person], [{ name: 'Ada' }]],
  ['or null', { type: ['object', 'null'], allOf: [named('Person')] }, person, { name: 'Ada' }],
  ['nothing of a class without properties', named('Nothing'), person, {}],
  ['nothing of an object in place of a text', text, person, {}],
  [
    'nothing of bytes in place of a text',
    { type: 'object', properties: { photo: text } },
    { photo: Buffer.from('x') },
    { photo: {} },
  ],
  ['what says by itself how it is written', text, { toJSON: () => '12.50' }, '12.50'],
  ['of what says by itself how it is written', named('Person'), { toJSON: () => person }, { name: 'Ada' }],
  ['all of any object', { type: 'object' }, person, person],
  ['all of anything', {}, [person], [person]],
  ['all of a list of anything', { type: 'array' }, [person, 'y'], [person, 'y']],
  ['nothing of an object in place of a listed value', { enum: ['x', 'y'] }, person, {}],
  ['nothing of an object without properties', { type: 'object', additionalProperties: false }, person, {}],
  [
    'all where others are allowed',
    { type: 'object', properties: { name: text }, additionalProperties: true },
    person,
    person,
  ],
  [
    'what is documented of properties of any name',
    { type: 'object', additionalProperties: named('Person') },
    { ada: person, ['__proto__']: person },
    { ada: { name: 'Ada' }, ['__proto__']: { name: 'Ada' } },
  ],
  [
    'what is documented of a property beside others',
    { type: 'object', properties: { first: named('Person') }, additionalProperties: true },
    { first: person, other: person },
    { first: { name: 'Ada' }, other: person },
  ],
  [
    'a property that one of several documents, and another one allows',
    {
      anyOf: [
        { type: 'object', properties: { a: named('Person') } },
        { type: 'object', additionalProperties: true },
      ],
    },
    { a: person },
    { a: person },
  ],
  ['no body', named('Person'), undefined, undefined],
])('copies %s [response-whitelist]', (_what, schema, value, expected) => {
  expect(copied(schema, value)).toEqual(expected);
});
