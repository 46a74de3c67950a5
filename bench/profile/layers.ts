/** Where a function is: file or module, and its name. */
export interface Place {
  readonly url: string;
  readonly functionName: string;
}

/** The layers of a request, by the URL and the name of their functions; the first one counts. */
const LAYERS: readonly (readonly [layer: string, place: RegExp])[] = [
  // V8 counts JSON.stringify as its caller.
  ['JSON', /\/(?:fast-json-stringify|serialis\w*|json)[/.-]|\/express\/lib\/response\.js stringify$| problemJson$/],
  ['HTTP', /^node:(?:_http|http|internal\/http)|\/build\/platform\/http\/|\/node_modules\/(?:on-headers|raw-body)\//],
  ['Passport', /\/node_modules\/(?:passport[\w-]*|@nestjs\/passport|lru-cache)\/|\/build\/platform\/auth\//],
  ['limiter', /\/node_modules\/@nestjs\/throttler\/|\/build\/platform\/throttling\//],
  ['validation', /\/node_modules\/(?:class-validator|class-transformer|validator)\/|\/build\/platform\/validation\//],
  ['Nest', /\/node_modules\/(?:@nestjs|rxjs|reflect-metadata|iterare|tslib)\//],
  ['TypeORM', /\/node_modules\/typeorm\//],
  ['pg', /\/node_modules\/(?:pg|pg-[\w-]+|postgres-[\w-]+)\//],
  ['logging', /\/node_modules\/(?:pino[\w-]*|sonic-boom|prom-client)\/|\/build\/platform\/observability\//],
  ['platform other', /\/build\/|\/bench\/peers\//],
  // All other packages that serve requests are parts of Express.
  ['Express', /\/node_modules\//],
];

/** Sockets and streams serve everybody; only where nobody else had them work, they are taken for those of requests. */
const SOCKETS = /^node:(?:net|stream|internal\/(?:stream|js_stream))/;

/** The layer of a function; undefined for what works for whoever calls it. */
export function layerOf({ url, functionName }: Place): string | undefined {
  if (functionName === '(garbage collector)') {
    return 'garbage collection';
  }
  return LAYERS.find(([, pattern]) => pattern.test(`${url} ${functionName}`))?.[0];
}

/** The layer of a function that no layer has called. */
export function layerWithoutCaller({ url }: Place): string {
  return SOCKETS.test(url) ? 'HTTP' : 'other';
}
