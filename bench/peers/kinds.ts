import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A server to compare. */
export interface Kind {
  readonly name: string;
  /** Arguments of Node. */
  readonly command: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  /** The same in files that tell to what layer they belong, if it runs as a bundle. */
  readonly profiled?: readonly string[];
  /** Workloads that it is measured with, if not with all. */
  readonly workloads?: readonly string[];
}

const service = [path('../../dist/main.js')];

/** Directory of another build of the service, to see what a change has brought. */
const { BENCH_BEFORE } = process.env;

export const kinds: readonly Kind[] = [
  { name: 'ours', command: service, profiled: [path('../../build/main.js')] },
  ...(BENCH_BEFORE === undefined ? [] : [{ name: 'before', command: [resolve(BENCH_BEFORE, 'main.js')] }]),
  { name: 'ours with access log', command: service, variables: { LOG_LEVEL: 'info' }, workloads: ['first page'] },
  { name: 'base', command: [path('servers/base.ts')] },
  { name: 'ceiling', command: [path('servers/ceiling.ts')] },
  { name: 'fastify', command: [path('servers/fastify.ts')] },
  { name: 'express', command: [path('servers/express.ts')] },
  { name: 'textbook', command: [path('servers/textbook/dist/main.js')] },
];

function path(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
