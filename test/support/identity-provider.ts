import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { JWK } from 'jose';
import { listen } from './listen.js';
import { type Algorithm, algorithms, SigningKey } from './signing-key.js';

const endpoints = new Map<string, 'discovery' | 'keys'>([
  ['/.well-known/openid-configuration', 'discovery'],
  ['/keys', 'keys'],
]);

/** Media types of the responses, which requests must accept: the Kubernetes API server requires that. */
const mediaTypes = { discovery: 'application/json', keys: 'application/jwk-set+json' };

/** Failures: no connection, no response, half or a late response, 500, a redirect to the correct URL, or an invalid body. */
export type ProviderFault = 'away' | 'silent' | 'half' | 'error' | 'redirect' | { body: string } | { milliseconds: number };

/** How a JWT is signed. */
export interface Signing {
  /** RS256 by default. */
  alg?: Algorithm;
  /** Undefined: that of the key. Null: none. */
  kid?: string | null;
  /** `JWT` by default. Null: none. */
  typ?: unknown;
}

/**
 * A server that publishes its keys and issues JWTs, with any claim, header and fault. What real tokens show is tested with those of a
 * certified provider (`certified-provider.ts`). It remains for what a certified one refuses to do: tokens of attackers, expired ones, claims
 * and types of other providers (`scp`, no scope, several audiences, `JWT` as the type), metadata and key sets that are wrong, half or late,
 * and counts of the requests. It also issues a token for any subject without a request, as tests of limits need.
 */
export class IdentityProvider {
  readonly audience = 'items-api';
  /** Number of requests for each document; `elsewhere` counts targets of redirects and of attackers' headers. */
  readonly requests = { discovery: 0, keys: 0, elsewhere: 0 };
  /** Metadata in addition to, or instead of, the issuer and the URL of its keys. */
  metadata: Record<string, unknown> = {};
  /** The key set. */
  published: JWK[] = [];
  /** How it fails; undefined while it responds. */
  fault: ProviderFault | undefined;

  private readonly server = createServer((request, response) => this.accept(request, response));
  private readonly current = new Map<Algorithm, SigningKey>();
  private port = 0;

  /** Starts it with a key for each algorithm. @param keys - to have these: it takes a while to make an RSA key */
  static async start(keys?: readonly SigningKey[]): Promise<IdentityProvider> {
    const provider = new IdentityProvider();
    provider.use(keys ?? (await SigningKey.generateAll()));
    provider.port = await listen(provider.server);
    return provider;
  }

  /** With this, a service accepts its JWTs. */
  get environment(): { AUTH_JWT_ISSUER: string; AUTH_JWT_AUDIENCE: string } {
    return { AUTH_JWT_ISSUER: this.issuer, AUTH_JWT_AUDIENCE: this.audience };
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get keysUrl(): string {
    return `${this.issuer}/keys`;
  }

  /** The key that it signs with. */
  key(alg: Algorithm = 'RS256'): SigningKey {
    const key = this.current.get(alg);
    if (!key) {
      throw new Error(`The provider has no key for ${alg}.`);
    }
    return key;
  }

  /** A JWT as the provider issues it, for five minutes; a claim that is undefined is left out. */
  sign(claims: Record<string, unknown> = {}, { alg = 'RS256', kid, typ = 'JWT' }: Signing = {}): Promise<string> {
    const key = this.key(alg);
    const now = Math.floor(Date.now() / 1000);
    const standard = { iss: this.issuer, aud: this.audience, sub: 'alice', iat: now, exp: now + 300 };
    const header = { alg, typ: typ ?? undefined, kid: kid === null ? undefined : (kid ?? key.kid) };
    return key.sign(header, { ...standard, ...claims });
  }

  /** Signs with these keys from now on. The old ones stay published. */
  use(keys: readonly SigningKey[]): void {
    for (const key of keys) {
      this.current.set(key.alg, key);
      this.published.push(key.publicJwk);
    }
  }

  private accept(request: IncomingMessage, response: ServerResponse): void {
    const [path = ''] = (request.url ?? '').split('?');
    const endpoint = endpoints.get(path);
    this.requests[endpoint ?? 'elsewhere'] += 1;
    const fault = endpoint && this.fault;
    const body = JSON.stringify(this.documentOf(path));
    if (fault === 'away') {
      request.socket.resetAndDestroy();
    } else if (!endpoint && !path.startsWith('/elsewhere/')) {
      response.writeHead(404).end();
    } else if (!(request.headers.accept ?? '').split(', ').includes(mediaTypes[endpoint ?? 'keys'])) {
      response.writeHead(406).end();
    } else if (fault === 'error') {
      response.writeHead(500).end(body);
    } else if (fault === 'redirect') {
      response.writeHead(302, { Location: `/elsewhere${path}` }).end(body);
    } else if (fault === 'half') {
      response.writeHead(200).write(body.slice(0, body.length / 2));
    } else if (typeof fault === 'object' && 'milliseconds' in fault) {
      setTimeout(() => response.writeHead(200).end(body), fault.milliseconds);
    } else if (fault !== 'silent') {
      response.writeHead(200).end(fault?.body ?? body);
    }
  }

  private documentOf(path: string): object {
    return path.endsWith('/keys')
      ? { keys: this.published }
      : { issuer: this.issuer, jwks_uri: this.keysUrl, id_token_signing_alg_values_supported: algorithms, ...this.metadata };
  }
}
