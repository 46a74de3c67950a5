import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { ConsoleLogger, Logger } from '@nestjs/common';
import {
  type Arbitrary,
  array,
  assert,
  asyncProperty,
  constantFrom,
  dictionary,
  integer,
  letrec,
  nat,
  oneof,
  option,
  tuple,
} from 'fast-check';
import { generateToken } from '../auth/token-format.js';
import type { Configuration } from '../config/configuration.js';
import { SERVICE_NAME } from '../service/service.js';
import { NestLogger } from './nest-logger.js';

describe('the level of the log', () => {
  afterEach(() => jest.useRealTimers());

  it.each([
    ['info', ['error', 'info']],
    ['error', ['error']],
    ['silent', []],
    ['debug', ['error', 'info', 'debug']],
    ['trace', ['error', 'info', 'debug', 'trace']],
  ])('%s is at least debug for five minutes, or until it is switched back', async (level, lines) => {
    jest.useFakeTimers();
    const directory = mkdtempSync(join(tmpdir(), 'items-log-'));
    const fd = openSync(join(directory, 'log'), 'w+');
    const configuration = { LOG_LEVEL: level, LOG_FORMAT: 'json' } as Configuration;
    const logger = await NestLogger.create(configuration, { fd, isTTY: false } as never);
    let read = 0;
    const written = () => {
      const text = readFileSync(join(directory, 'log'), 'utf8').slice(read);
      read += text.length;
      return text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as { msg: string }).msg));
    };
    const logAll = () => {
      for (const each of ['error', 'log', 'debug', 'verbose'] as const) {
        logger[each]({ log: 'info', verbose: 'trace', error: 'error', debug: 'debug' }[each]);
      }
      return written();
    };
    const debugged = ['error', 'info', 'debug', ...lines.filter((line) => line === 'trace')];
    const [on, off] = ['log level: debug for five minutes, or until the next SIGUSR2', 'log level: as configured again'];
    expect(logAll()).toEqual(lines);

    logger.toggleDebug();
    expect(logAll()).toEqual([on, ...debugged]);
    jest.advanceTimersByTime(299_999);
    expect(logAll()).toEqual(debugged);
    jest.advanceTimersByTime(1);
    expect(logAll()).toEqual([off, ...lines]);

    logger.toggleDebug();
    jest.advanceTimersByTime(200_000);
    logger.toggleDebug();
    expect(logAll()).toEqual([on, off, ...lines]);
    // The timer of the first one is gone.
    logger.toggleDebug();
    jest.advanceTimersByTime(200_000);
    expect(logAll()).toEqual([on, ...debugged]);
    jest.advanceTimersByTime(100_000);
    expect(logAll()).toEqual([off, ...lines]);
    closeSync(fd);
    rmSync(directory, { recursive: true });
  });
});

describe('a feature logs what it likes', () => {
  const directory = mkdtempSync(join(tmpdir(), 'items-log-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  afterEach(() => void Logger.overrideLogger(new ConsoleLogger()));

  /** What is written when a feature uses Nest's `Logger`. */
  async function written(
    log: (logger: Logger) => void,
    format: 'json' | 'pretty' = 'json',
    level = 'debug',
  ): Promise<string> {
    const path = join(directory, 'log');
    const fd = openSync(path, 'w');
    const configuration = { LOG_LEVEL: level, LOG_FORMAT: format } as Configuration;
    Logger.overrideLogger(
      await NestLogger.create(configuration, { fd, isTTY: false } as unknown as NodeJS.WriteStream & { fd: number }),
    );
    log(new Logger('Charges'));
    closeSync(fd);
    return readFileSync(path, 'utf8');
  }

  /** The one line, of which `level`, `time`, `service` and `context` are as they must be. */
  async function fields(log: (logger: Logger) => void, level = 'info'): Promise<object> {
    const text = await written(log);
    const { time, ...line } = JSON.parse(text) as Record<string, unknown>;
    expect(time).toEqual(expect.stringMatching(/^\d{4}-.*Z$/));
    // No name is there twice.
    expect(`${JSON.stringify(JSON.parse(text))}\n`).toBe(text);
    const { level: found, service, context, ...rest } = line;
    expect([found, service, context]).toEqual([level, SERVICE_NAME, 'Charges']);
    return rest;
  }

  const described = (message: string, more: object = {}) => ({
    type: 'Error',
    message,
    stack: expect.stringContaining(message),
    ...more,
  });

  const declined = new Error('declined', { cause: new Error('no money') });
  const err = described('declined', { cause: described('no money') });

  class Order {
    readonly id = 7;
    readonly lines = [{ price: 3n }];
  }

  const circular: Record<string, unknown> = { id: 7 };
  circular['itself'] = circular;

  it.each<[what: string, log: (logger: Logger) => void, expected: object, level?: string]>([
    [
      'an error after the text',
      (logger) => logger.error('charging failed', declined),
      { msg: 'charging failed', err },
      'error',
    ],
    ['an error after the text, fatally', (logger) => logger.fatal('f', declined), { msg: 'f', err }, 'fatal'],
    ['an error alone', (logger) => logger.warn(declined), { msg: 'declined', err }, 'warn'],
    [
      'an error in a field',
      (logger) => logger.log('a', { error: declined, deep: [{ declined }] }),
      { msg: 'a', error: err, deep: [{ declined: err }] },
    ],
    ['a second error', (logger) => logger.log('a', declined, new Error('b')), { msg: 'a', err, err_: described('b') }],
    ['errors in a list', (logger) => logger.log(new Set([declined])), { msg: expect.stringMatching(/declined.*no money/) }],
    ['a stack', (logger) => logger.error('a', declined.stack), { msg: 'a', stack: declined.stack }, 'error'],
    ['a text that Nest takes for a stack', (logger) => logger.error('a', 'b'), { msg: 'a b' }, 'error'],
    [
      'an object after the text',
      (logger) => logger.warn('slow', { orderId: 7, a: { b: null } }),
      { msg: 'slow', orderId: 7, a: { b: null } },
      'warn',
    ],
    ['several texts', (logger) => logger.log('a', 'b', 3), { msg: 'a b 3' }],
    ['a number', (logger) => logger.log(42), { msg: '42' }],
    ['no number', (logger) => logger.debug('a', Number.NaN, { b: -Infinity }), { msg: 'a NaN', b: '-Infinity' }, 'debug'],
    ['a list', (logger) => logger.log([1, [2, 'x'], new Set([3n])]), { msg: '[1,[2,"x"],["3"]]' }],
    [
      'a map',
      (logger) =>
        logger.log('a', {
          map: new Map<unknown, unknown>([
            ['b', { c: 1 }],
            [2, Symbol('d')],
          ]),
        }),
      { msg: 'a', map: { b: { c: 1 }, 2: 'Symbol(d)' } },
    ],
    ['a date', (logger) => logger.log(new Date(0)), { msg: '1970-01-01T00:00:00.000Z' }],
    ['bytes', (logger) => logger.log('a', { bytes: Buffer.from('b') }), { msg: 'a', bytes: '<Buffer 62>' }],
    ['a pattern', (logger) => logger.log(/b+/), { msg: '/b+/' }],
    ['a class', (logger) => logger.log(Order), { msg: 'Order' }],
    ['a function, called as Nest does', (logger) => logger.log(() => 'lazy'), { msg: 'lazy' }],
    ['a function in a field', (logger) => logger.log('a', { written }), { msg: 'a', written: '[AsyncFunction: written]' }],
    ['an instance', (logger) => logger.log(new Order()), { id: 7, lines: [{ price: '3' }] }],
    ['an instance after the text', (logger) => logger.log('a', new Order()), { msg: 'a', id: 7, lines: [{ price: '3' }] }],
    ['null and undefined', (logger) => logger.log(null, undefined), { msg: 'null undefined' }],
    ['a circle', (logger) => logger.log('a', circular), { msg: 'a', id: 7, itself: { id: 7, itself: '[Circular]' } }],
    ['a depth without end', (logger) => logger.log('a', deep(99_999)), { msg: 'a', deep: expect.anything() }],
    [
      'what cannot be read',
      (logger) =>
        logger.log({
          get a() {
            throw new Error('broken');
          },
        }),
      { msg: '[unreadable]' },
    ],
    [
      'a message of another type',
      (logger) => logger.log(Object.assign(new Error('a'), { message: ['b', 'c'] })),
      { msg: 'b,c', err: expect.objectContaining({ message: 'b,c' }) },
    ],
    [
      'an error of a library that has only the prototype of errors',
      (logger) =>
        logger.log(
          Object.assign(Object.create(Error.prototype) as Error, {
            name: 'TokenError',
            message: 'a',
            stack: 'at b',
            rows: ['c'],
          }),
        ),
      { msg: 'a', err: { type: 'TokenError', message: 'a', stack: 'at b' } },
    ],
    [
      'fields with a text',
      (logger) => logger.log({ msg: 'a', b: 1, err: 'c' }, 'd'),
      { msg: 'a d', b: 1, err: { type: 'string', message: 'c' } },
    ],
    [
      'names that are taken',
      (logger) =>
        logger.log({ level: 'x', time: 1, msg: 'a', context: 'Audit', service: 2, b: 1 }, { msg: 'c', b: 2, level: 3 }),
      { msg: 'a', level_: 'x', time_: 1, context_: 'Audit', service_: 2, b: 1, msg_: 'c', b_: 2, level__: 3 },
    ],
  ])('%s is in the line [log-errors] [log-names-taken]', async (_what, log, expected, level = 'info') => {
    expect(await fields(log, level)).toEqual(expected);
  });

  it('hides credentials in what comes from errors, in any position, and no other property of them is logged [log-errors]', async () => {
    const token = generateToken();
    const failed = () => Object.assign(new Error(`no ${token}`), { parameters: ['secret row'] });
    const rejected = Promise.reject(failed());
    await rejected.catch(() => undefined);
    const calls: ((logger: Logger) => void)[] = [
      (logger) => logger.error(failed()),
      (logger) => logger.error('a', failed().stack),
      (logger) => logger.warn('a', 'b', failed()),
      (logger) => logger.log({ failed: failed() }, [new Map([[failed(), failed()]])], new Set([failed()])),
      (logger) => logger.log('a', { promise: rejected }),
    ];
    for (const call of calls) {
      const text = await written(call);
      expect([text.includes(token), text.includes('secret row'), text.endsWith('}\n')]).toEqual([false, false, true]);
    }
  });

  it('says the same on a terminal', async () => {
    const odd = {
      name: 'n',
      status: { s: 1 },
      path: ['p'],
      durationMs: 'd',
      method: true,
      pid: 0,
      timestamp: 't',
      err: declined,
    };
    const text = await written((logger) => logger.warn('request', 'x', odd), 'pretty');
    const expected = [
      'WARN',
      'Charges: ',
      'request x',
      'n',
      '{"s":1}',
      '["p"]',
      'd',
      'true',
      '"pid":0',
      '"timestamp":"t"',
      'no money',
    ];
    expect(expected.filter((each) => !text.includes(each))).toEqual([]);
  });

  it('bounds and masks what is logged whole, and survives an error that cannot be described', async () => {
    const token = `items_${'a'.repeat(36)}`;
    const request = { headers: { authorization: `Bearer ${token}` }, rows: Array.from({ length: 1000 }, (_, row) => row) };
    const hostile = Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw hostile;
      },
    });
    const odd = new Map([['__proto__', { p: 1 }]]);
    const text = await written((logger) => logger.warn('got', { request, hostile, constructor: 'c' }, odd));
    expect(text).not.toContain(token);
    expect(text).toContain('"__proto___":{"p":1}');
    const line = JSON.parse(text) as { request: { rows: number[] } };
    expect(line).toMatchObject({ hostile: { message: '[unreadable]' }, constructor: 'c' });
    expect(line.request.rows).toHaveLength(100);
  });

  it('calls no function for a level that is off', async () => {
    const lazy = jest.fn(() => 'lazy');
    expect(await written((logger) => logger.debug(lazy), 'json', 'error')).toBe('');
    expect(await written((logger) => logger.log(lazy), 'json', 'error')).toBe('');
    expect(lazy).not.toHaveBeenCalled();
  });

  it.each(['json', 'pretty'] as const)('has all words that ConsoleLogger prints, in the format %s', async (format) => {
    const print = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const printError = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const { calls } = print.mock;
    const level = constantFrom('log' as const, 'error' as const, 'warn' as const, 'debug' as const, 'fatal' as const);
    const property = asyncProperty(
      level,
      array(option(anything(), { nil: undefined }), { minLength: 1, maxLength: 4 }),
      async (method, [first, ...rest]) => {
        const call = (logger: Logger) => logger[method](first, ...rest);
        Logger.overrideLogger(new ConsoleLogger({ colors: false }));
        [calls, printError.mock.calls].forEach((each) => (each.length = 0));
        call(new Logger('Charges'));
        const expected = [...calls, ...printError.mock.calls].join(' ').match(/w\d+w|\b[12]\d{7}\b/g) ?? [];
        const text = await written(call, format);
        expect(expected.filter((word) => !text.includes(word))).toEqual([]);
      },
    );
    await assert(property, { numRuns: 300 }).finally(() => [print, printError].forEach((spy) => spy.mockRestore()));
  });
});

class Labeled {
  readonly label = 'x';
}

/** A value of any kind, whose words and numbers are found in whatever writes them. In JSON, a field is never undefined. */
function anything(): Arbitrary<unknown> {
  const text = nat().map((n) => `w${n}w`);
  const number = integer({ min: 10_000_000, max: 29_999_999 });
  const key = oneof(text, constantFrom('msg', 'level', 'time', 'context', 'service', 'errors', 'stack', 'cause'));
  return letrec<{ value: unknown }>((tie) => ({
    value: oneof(
      { maxDepth: 4 },
      text,
      number,
      number.map(BigInt),
      text.map(Symbol),
      constantFrom(null, true),
      array(tie('value'), { maxLength: 3 }),
      dictionary(key, tie('value'), { maxKeys: 3 }),
      dictionary(key, tie('value'), { maxKeys: 3 }).map((each) => Object.assign(new Labeled(), each)),
      array(tuple(oneof(text, number), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
      array(tie('value'), { maxLength: 3 }).map((each) => new Set(each)),
      tuple(text, option(text)).map(
        ([message, cause]) => new Error(message, cause === null ? {} : { cause: new Error(cause) }),
      ),
      tie('value').map((each) => () => each),
    ),
  })).value;
}

function deep(depth: number): object {
  let value = {};
  for (let level = 0; level < depth; level += 1) value = { deep: value };
  return value;
}
