import { format, inspect } from 'node:util';
import { pino } from 'pino';
import { NestLogger } from '../observability/nest-logger.js';
import { Configuration } from './configuration.js';
import { readConfiguration } from './read-configuration.js';

const PASSWORD = 'canaryhunter2';

/** What leads to something, with a password in it, in the spelling of every kind of variable. */
const URLS = [
  `postgres://user:${PASSWORD}@host/database`,
  `postgres://host/database?password=${PASSWORD}`,
  `redis://user:${PASSWORD}@host`,
  `redis+sentinel://host/main?sentinelPassword=${PASSWORD}`,
  `https://user:${PASSWORD}@host/path`,
];

/** The configuration with one variable, and those that it needs; undefined where that is refused. */
function withVariable(name: string, value: string): Configuration | undefined {
  const others = { DATABASE_URL: 'postgres://host/database', AUTH_JWT_ISSUER: 'https://host', AUTH_JWT_AUDIENCE: 'items' };
  try {
    return readConfiguration({ ...others, [name]: value });
  } catch {
    return undefined;
  }
}

/** Whether a variable has no form of its own: names and paths are none in which a URL is looked for. */
const takesAnything = (name: string) => withVariable(name, 'anything') !== undefined;

/** Every other variable that takes one of the URLs. */
const secrets = Object.keys(new Configuration())
  .filter((name) => !takesAnything(name))
  .flatMap((name) => URLS.map((url) => ({ name, url, configuration: withVariable(name, url) })))
  .flatMap(({ configuration, ...rest }) => (configuration ? [{ ...rest, configuration }] : []));

function logged(...message: Parameters<NestLogger['log']>): string {
  const lines: string[] = [];
  new NestLogger(pino({}, { write: (line) => void lines.push(line) })).log(...message);
  return lines.join('');
}

const printOuts: [string, (configuration: Configuration) => string][] = [
  ['inspect', (configuration) => inspect({ options: [configuration] }, { showHidden: true, getters: true, depth: 9 })],
  ['console.log', (configuration) => format(configuration, '%o %O %j %s', configuration, configuration, configuration)],
  ['JSON', (configuration) => JSON.stringify({ options: [configuration] })],
  ['the log', (configuration) => logged(configuration) + logged({ msg: 'started', configuration })],
];

describe('a print-out of the configuration', () => {
  it('may be of variables that take passwords, which it shows whoever uses them', () => {
    const known = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_REPLICA_URLS', 'REDIS_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
    expect(secrets.map(({ name }) => name)).toEqual(expect.arrayContaining(known));
    for (const { url, configuration } of secrets) expect(Object.values(configuration).flat()).toContain(url);
  });

  it.each(printOuts)('shows no password: %s', (_case, print) => {
    const headers = readConfiguration({ OTEL_EXPORTER_OTLP_HEADERS: `api-key=${PASSWORD}` });
    const configurations = [headers, ...secrets.map(({ configuration }) => configuration)];
    for (const configuration of configurations) expect(print(configuration)).not.toContain(PASSWORD);
  });

  it.each(printOuts)('shows all else as it is, and whether there may be a password: %s', (_case, print) => {
    const text = print(readConfiguration({ REDIS_URL: URLS[2], DATA_DIR: '/canary', RATE_LIMIT: '12345' }));
    expect(text).toMatch(/REDIS_URL"?: ?['"]\[set\]['"]/);
    expect(text).not.toMatch(/DATABASE_(?:DIRECT_)?URL"?: ?['"]/);
    expect(text).toMatch(/DATABASE_REPLICA_URLS"?: ?\[(?:\s*\[length\]: 0\s*)?\]/);
    expect(text).toMatch(/DATA_DIR"?: ?['"]\/canary['"]/);
    expect(text).toMatch(/RATE_LIMIT"?: ?12345/);
  });
});
