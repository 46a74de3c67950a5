import { hash, randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { calculateJwkThumbprint, decodeJwt, exportJWK, exportSPKI, generateKeyPair, type JWK } from 'jose';
import { type ClientMetadata, type Configuration, Provider, type ResourceServer } from 'oidc-provider';
import { Browser } from './forms-browser.js';
import { listen } from './listen.js';

/** The resource that tokens are for: the audience that the service accepts. */
export const AUDIENCE = 'https://items.example/api';

/** A client that asks for tokens, and one that has the name of the audience, as the service itself would. */
const CLIENTS = ['batch', AUDIENCE];
/** A public client that users log in with. */
const WEBSITE = { client_id: 'website', redirect_uri: 'https://website.example/callback' };
const CIBA = 'urn:openid:params:grant-type:ciba';

/** What a user's client gets for a code. */
export interface UserTokens {
  readonly accessToken: string;
  readonly idToken: string;
}

/** oidc-provider, certified by the OpenID Foundation, at an address of its own. */
export class CertifiedProvider {
  issuer = '';
  /** How access tokens are signed, by their resource. */
  readonly signing = new Map<string, ResourceServer['jwt']>();
  private accept: RequestListener = (_request, response) => response.writeHead(503).end();

  static async start(keys: readonly JWK[]): Promise<CertifiedProvider> {
    const provider = new CertifiedProvider();
    const server = createServer((request, response) => provider.accept(request, response));
    provider.issuer = `http://127.0.0.1:${await listen(server)}`;
    provider.use(keys);
    return provider;
  }

  /** Signs with the first of these private keys for an algorithm from now on, and publishes all. */
  use(keys: readonly JWK[]): void {
    const provider: Provider = new Provider(this.issuer, {
      ...this.configuration(() => provider),
      jwks: { keys: [...keys] },
    });
    const callback = provider.callback();
    this.accept = (request, response) => void callback(request, response);
  }

  /** An access token by client credentials (RFC 6749, section 4.4) for a resource (RFC 8707). */
  async issue(scope: string, resource = AUDIENCE): Promise<string> {
    const { access_token: token = '' } = await this.post('/token', 'batch', {
      grant_type: 'client_credentials',
      scope,
      resource,
    });
    return token;
  }

  /** The ID token of a user for a client, by backchannel authentication, which needs no browser. */
  async issueIdToken(client: string): Promise<string> {
    const { auth_req_id = '' } = await this.post('/backchannel', client, { scope: 'openid', login_hint: 'alice' });
    const { id_token: token = '' } = await this.post('/token', client, { grant_type: CIBA, auth_req_id });
    return token;
  }

  /**
   * The tokens of a user by the code flow (RFC 6749, section 4.1) with PKCE (RFC 7636), for the audience (RFC 8707): after the login and the
   * consent, whose forms the user submits.
   *
   * @param verify - returns what the client proves that it began the flow with
   */
  async logIn(user: string, scope: string, verify = (verifier: string) => verifier): Promise<UserTokens> {
    const [verifier, ids] = [random(), { state: random(), nonce: random() }];
    const pkce = { code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 'S256' };
    const asked = { ...WEBSITE, response_type: 'code', scope: `openid ${scope}`, resource: AUDIENCE, ...ids, ...pkce };
    const url = new URL(`${this.issuer}/auth?${new URLSearchParams(asked).toString()}`);
    const back = await new Browser(user).open(url, WEBSITE.redirect_uri);
    const { code = '', ...rest } = Object.fromEntries(back.searchParams);
    expect(rest).toEqual({ state: ids.state, iss: this.issuer });
    const proof = { code, code_verifier: verify(verifier), resource: AUDIENCE };
    const body = await this.post('/token', undefined, { grant_type: 'authorization_code', ...WEBSITE, ...proof });
    const { access_token: accessToken = '', id_token: idToken = '' } = body;
    expect(decodeJwt(idToken)).toMatchObject({ nonce: ids.nonce, sub: user });
    return { accessToken, idToken };
  }

  /** What the provider says about a token to the audience, as a JWT (RFC 9701). */
  async introspect(token: string): Promise<string> {
    const headers = { ...authorize(AUDIENCE), Accept: 'application/token-introspection+jwt' };
    const response = await fetch(`${this.issuer}/token/introspection`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ token }),
    });
    return response.text();
  }

  /** Closes all connections, until it has keys to use. */
  fail(): void {
    this.accept = (request) => request.socket.resetAndDestroy();
  }

  private async post(
    path: string,
    client: string | undefined,
    fields: Record<string, string>,
  ): Promise<Record<string, string | undefined>> {
    const init = {
      method: 'POST',
      headers: client === undefined ? {} : authorize(client),
      body: new URLSearchParams(fields),
    };
    const response = await fetch(this.issuer + path, init);
    const body = (await response.json()) as Record<string, string | undefined>;
    if (!response.ok) {
      throw new Error(`The provider refused: ${JSON.stringify(body)}`);
    }
    return body;
  }

  private configuration(own: () => Provider): Configuration {
    const getResourceServerInfo = (_context: unknown, resource: string): ResourceServer => ({
      audience: resource,
      scope: 'items:read items:write',
      accessTokenFormat: 'jwt',
      ...(this.signing.has(resource) && { jwt: this.signing.get(resource) }),
    });
    return {
      clients: [...CLIENTS.map(metadataOf), websiteMetadata],
      findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
      features: {
        devInteractions: { enabled: true },
        clientCredentials: { enabled: true },
        introspection: { enabled: true },
        jwtIntrospection: { enabled: true },
        resourceIndicators: { enabled: true, getResourceServerInfo, defaultResource: () => '' },
        ciba: {
          enabled: true,
          deliveryModes: ['poll'],
          processLoginHint: (_context, hint) => hint,
          verifyUserCode: () => undefined,
          validateBindingMessage: () => undefined,
          validateRequestContext: () => undefined,
          async triggerAuthenticationDevice(_context, request, account, { clientId }) {
            const grant = new (own().Grant)({ accountId: account.accountId, clientId });
            grant.addOIDCScope('openid');
            await grant.save();
            await own().backchannelResult(request, grant);
          },
        },
      },
    };
  }
}

function metadataOf(client_id: string): ClientMetadata {
  return {
    client_id,
    client_secret: 'a secret of the tests',
    grant_types: ['client_credentials', CIBA],
    redirect_uris: [],
    response_types: [],
    introspection_signed_response_alg: 'RS256',
    backchannel_token_delivery_mode: 'poll',
  };
}

const websiteMetadata: ClientMetadata = {
  client_id: WEBSITE.client_id,
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code'],
  redirect_uris: [WEBSITE.redirect_uri],
  response_types: ['code'],
};

/** What nobody can guess. */
function random(): string {
  return randomBytes(32).toString('base64url');
}

function authorize(client: string): { Authorization: string } {
  const credentials = [client, 'a secret of the tests'].map(encodeURIComponent).join(':');
  return { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** A new key as the provider takes it, and its public part in PEM. */
export async function newKey(alg: string): Promise<{ jwk: JWK; publicPem: string }> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const kid = await calculateJwkThumbprint(await exportJWK(publicKey));
  return { jwk: { ...(await exportJWK(privateKey)), kid, use: 'sig' }, publicPem: await exportSPKI(publicKey) };
}
