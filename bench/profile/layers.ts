import type { Profile } from './profiler.ts';

/** Time in which a function itself was at work, and the layer that it worked for. */
export interface SelfTime {
  readonly name: string;
  readonly layer: string;
  readonly microseconds: number;
}

type Node = Profile['nodes'][number];

/** The layers of a request, by the URL and the name of their functions; the first one counts. */
const LAYERS: readonly (readonly [layer: string, pattern: RegExp])[] = [
  // V8 counts JSON.stringify as its caller.
  ['JSON', /\/(?:fast-json-stringify|serialis\w*|json)[/.-]|\/express\/lib\/response\.js stringify$| problemJson$/],
  ['HTTP', /^node:(?:_http|http|internal\/http)|\/dist\/platform\/http\/|\/node_modules\/(?:on-headers|raw-body)\//],
  ['Passport', /\/node_modules\/(?:passport[\w-]*|@nestjs\/passport|lru-cache)\/|\/dist\/platform\/auth\//],
  ['limiter', /\/node_modules\/@nestjs\/throttler\/|\/dist\/platform\/throttling\//],
  ['validation', /\/node_modules\/(?:class-validator|class-transformer|validator)\/|\/dist\/platform\/validation\//],
  ['Nest', /\/node_modules\/(?:@nestjs|rxjs|reflect-metadata|iterare|tslib)\//],
  ['TypeORM', /\/node_modules\/typeorm\//],
  ['pg', /\/node_modules\/(?:pg|pg-[\w-]+|postgres-[\w-]+)\//],
  ['logging', /\/node_modules\/(?:pino[\w-]*|sonic-boom|prom-client)\/|\/dist\/platform\/observability\//],
  ['platform other', /\/dist\/|\/bench\/peers\//],
  // All other packages that serve requests are parts of Express.
  ['Express', /\/node_modules\//],
];

/** Sockets and streams serve all layers; without a caller in one of these, they serve requests. */
const SOCKETS = /^node:(?:net|stream|internal\/(?:stream|js_stream))/;

/** The self time of every function in the call tree. One without a layer of its own works for its nearest caller that has one. */
export function selfTimes({ nodes, samples = [], timeDeltas = [] }: Profile): SelfTime[] {
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)));
  const spent = new Map<number, number>();
  samples.forEach((id, index) => spent.set(id, (spent.get(id) ?? 0) + (timeDeltas[index] ?? 0)));
  return nodes
    .filter(({ callFrame }) => callFrame.functionName !== '(idle)')
    .map((node) => ({ name: nameOf(node), layer: layerFor(node, parents), microseconds: spent.get(node.id) ?? 0 }));
}

function layerFor(node: Node, parents: ReadonlyMap<number, Node>): string {
  for (let caller: Node | undefined = node; caller; caller = parents.get(caller.id)) {
    const { url, functionName } = caller.callFrame;
    if (functionName === '(garbage collector)') {
      return 'garbage collection';
    }
    const layer = LAYERS.find(([, pattern]) => pattern.test(`${url} ${functionName}`))?.[0];
    if (layer !== undefined) {
      return layer;
    }
  }
  return SOCKETS.test(node.callFrame.url) ? 'HTTP' : 'other';
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: Node): string {
  const file = url.replace(/^.*\/node_modules\/|^.*\/(?=dist\/)/, '');
  return `${functionName || '(anonymous)'}${file && ` ${file}:${lineNumber + 1}`}`;
}
