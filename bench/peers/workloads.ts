import type { Data } from './data.ts';
import { AMPLE, DEPTH, TIGHT } from './settings.ts';

/** Requests of one kind, with tokens that take turns. */
export interface Workload {
  readonly name: string;
  /** Of every answer. */
  readonly status: number;
  readonly method?: 'POST';
  readonly body?: string;
  /** Query string. */
  readonly search?: string;
  /** Rows before the page that the requests ask for. */
  readonly depth?: number;
  readonly tokens: keyof Pick<Data, 'tokens' | 'strangers'>;
  /** Rate limit of the servers. */
  readonly limits: typeof AMPLE;
}

const usual = { status: 200, tokens: 'tokens', limits: AMPLE } as const;
const filter = encodeURIComponent('name.startsWith("red bicycle")');

export const workloads: readonly Workload[] = [
  { ...usual, name: 'first page' },
  { ...usual, name: 'page of 100', search: 'limit=100' },
  { ...usual, name: 'deep page', depth: DEPTH },
  { ...usual, name: 'filtered page', search: `filter=${filter}` },
  {
    ...usual,
    name: 'create',
    status: 201,
    method: 'POST',
    body: JSON.stringify({ name: 'Blue bicycle', description: 'Seven gears, one bell.' }),
  },
  { ...usual, name: '401', status: 401, tokens: 'strangers' },
  { ...usual, name: '429', status: 429, limits: TIGHT },
];
