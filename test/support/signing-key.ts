import { calculateJwkThumbprint, type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK } from 'jose';

/** Algorithms whose JWTs the service accepts. */
export const algorithms = ['RS256', 'ES256', 'EdDSA', 'Ed25519'] as const;
export type Algorithm = (typeof algorithms)[number];

/** Their names in WebCrypto. */
const parameters = {
  RS256: { name: 'RSASSA-PKCS1-v1_5' },
  ES256: { name: 'ECDSA', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
  Ed25519: { name: 'Ed25519' },
};

/** A key pair that JWTs are signed with. */
export class SigningKey {
  private constructor(
    readonly alg: Algorithm,
    /** As the issuer publishes it, with its `kid`. */
    readonly publicJwk: JWK,
    /** The same in PEM. */
    readonly publicPem: string,
    private readonly privateKey: CryptoKey,
  ) {}

  static async generate(alg: Algorithm): Promise<SigningKey> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(jwk);
    return new SigningKey(alg, { ...jwk, kid, use: 'sig', alg }, await exportSPKI(publicKey), privateKey);
  }

  /** One for each algorithm. */
  static generateAll(): Promise<SigningKey[]> {
    return Promise.all(algorithms.map((alg) => SigningKey.generate(alg)));
  }

  get kid(): string {
    return this.publicJwk.kid ?? '';
  }

  /** Signs any input without jose, which would refuse to sign many of an attacker's tokens. */
  async sign(header: object, payload: object | string): Promise<string> {
    const input = signingInput(header, payload);
    return `${input}.${await this.signatureOf(input)}`;
  }

  async signatureOf(input: string): Promise<string> {
    const signature = await crypto.subtle.sign(parameters[this.alg], this.privateKey, Buffer.from(input));
    return Buffer.from(signature).toString('base64url');
  }
}

/** The signed part of a JWT (RFC 7515, section 5.1). */
export function signingInput(header: object, payload: object | string): string {
  return `${encode(header)}.${encode(payload)}`;
}

function encode(part: object | string): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}
