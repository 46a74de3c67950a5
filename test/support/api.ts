/** A response as a client sees it. */
export interface Answer<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

export interface ItemBody {
  id: string;
  name: string;
  description?: string;
  createdAt: string;
}

export interface PageBody {
  items: ItemBody[];
  nextCursor?: string;
}

export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  requestId: string;
  errors?: { pointer?: string; parameter?: string; code: string; detail: string; start?: number; end?: number }[];
}

/** Must never be in a problem: stacks, SQL, source paths, names of our libraries. */
export const LEAKS = /\\n +at |node_modules|\.[jt]s:\d|SELECT |INSERT |QueryFailed|typeorm|pglite|postgres|sqlstate/i;

export const EVENT_STREAM = /^text\/event-stream\b/;

/** Nest sends the number of a handler as HTML. @throws SyntaxError for invalid JSON, unless the response has another type */
function parseBody(mediaType: string | null, text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch (error) {
    if (/json/.test(mediaType ?? '')) throw error;
    return text;
  }
}

/** A client of one running service with one token. */
export class Api {
  constructor(
    readonly origin: string,
    readonly token: string,
  ) {}

  /** Sends a request and parses the response as JSON. Of an event stream, which has no end, it reads nothing. */
  async send<Body = ProblemBody>(method: string, path: string, init: RequestInit = {}): Promise<Answer<Body>> {
    const response = await fetch(this.origin + path, { method, ...init });
    const { status, headers } = response;
    if (EVENT_STREAM.test(headers.get('Content-Type') ?? '')) {
      await response.body?.cancel();
      return { status, headers, body: undefined as Body };
    }
    return { status, headers, body: parseBody(headers.get('Content-Type'), await response.text()) as Body };
  }

  /** The same with the token. */
  call<Body = ProblemBody>(method: string, path: string, init: RequestInit = {}): Promise<Answer<Body>> {
    return this.send<Body>(method, path, { ...init, headers: { ...this.authorization, ...(init.headers as object) } });
  }

  /** The same with a body in JSON. */
  callWith<Body = ProblemBody>(method: string, path: string, body: unknown, headers: object = {}): Promise<Answer<Body>> {
    const init = { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...headers } };
    return this.call<Body>(method, path, init);
  }

  list<Body = PageBody>(query: Record<string, string> | string = '', path = '/v1/items'): Promise<Answer<Body>> {
    const search = new URLSearchParams(query).toString();
    return this.call<Body>('GET', `${path}${search && `?${search}`}`);
  }

  /** The rows of all pages, one after the other. */
  async walk<Row = ItemBody>(query: { limit?: string; filter?: string } = {}, path?: string): Promise<Row[]> {
    const items: Row[] = [];
    let page: { items: Row[]; nextCursor?: string } = { items };
    do {
      const cursor = page.nextCursor && { cursor: page.nextCursor };
      const answer = await this.list<typeof page>({ ...query, ...cursor }, path);
      expect(answer).toMatchObject({ status: 200 });
      page = answer.body;
      expect(page.items.length).toBeLessThanOrEqual(Number(query.limit ?? 20));
      items.push(...page.items);
    } while (page.nextCursor);
    return items;
  }

  create<Body = ItemBody>(item: unknown): Promise<Answer<Body>> {
    return this.post<Body>(JSON.stringify(item));
  }

  /** Creates an item from a body as it is given. */
  post<Body = ProblemBody>(body: RequestInit['body'], headers: Record<string, string> = {}): Promise<Answer<Body>> {
    return this.call<Body>('POST', '/v1/items', {
      body: body ?? null,
      headers: { 'Content-Type': 'application/json', ...headers },
    });
  }

  get authorization(): { Authorization: string } {
    return { Authorization: `Bearer ${this.token}` };
  }
}
