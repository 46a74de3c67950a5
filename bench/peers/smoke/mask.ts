import type { Workload } from '../workloads.ts';
import type { Answer } from './exchange.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const URL_SAFE = /^[\w.~-]{1,512}$/;

/** An answer in which everything that each server makes up for itself is replaced by whether it has the form that it must have. */
export function masked({ status, headers, body }: Answer, { method, limits }: Workload): Answer {
  const window = Number(limits.RATE_LIMIT_WINDOW);
  const seconds = (text: string) => (/^[1-9]\d*$/.test(text) && Number(text) <= window ? '<seconds>' : text);
  return {
    status,
    headers: {
      ...headers,
      RateLimit: headers['RateLimit']?.replace(/(?<=;t=)\d+$/, seconds) ?? null,
      'Retry-After': headers['Retry-After']?.replace(/^\d+$/, seconds) ?? null,
    },
    body: Object.fromEntries(
      Object.entries(method === 'POST' ? maskedItems(body) : body).map(([name, value]) => [
        name,
        maskedMember(name, value, seconds),
      ]),
    ),
  };
}

function maskedMember(name: string, value: unknown, seconds: (text: string) => string): unknown {
  if (typeof value !== 'string') {
    return value;
  }
  switch (name) {
    case 'requestId':
      return value.replace(UUID, '<uuid>');
    case 'nextCursor':
      return value.replace(URL_SAFE, '<cursor>');
    case 'detail':
      return value.replace(/(?<=Retry in )\d+(?= s\.$)/, seconds);
    default:
      return value;
  }
}

/** A new item, or a page with it. */
function maskedItems(body: Answer['body']): Answer['body'] {
  const { items } = body;
  return Array.isArray(items) ? { ...body, items: (items as Answer['body'][]).map(maskedItem) } : maskedItem(body);
}

/** The time of an item is the one in its id. */
function maskedItem({ id, createdAt, ...item }: Answer['body']): Answer['body'] {
  const isItem = typeof id === 'string' && UUID_V7.test(id) && typeof createdAt === 'string' && TIME.test(createdAt);
  const time = isItem && new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toISOString();
  return createdAt === time ? { ...item, id: '<uuid>', createdAt: '<its time>' } : { ...item, id, createdAt };
}
