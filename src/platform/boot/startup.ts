import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import { ThrottlerStorage } from '@nestjs/throttler';
import { StaticTokens } from '../auth/static/static-tokens.js';
import { JwtVerifier } from '../auth/jwt/jwt-verifier.js';
import { Database } from '../database/database.js';
import { StoredResponses } from '../idempotency/stored-responses.js';
import { OpenApiDocument } from '../openapi/openapi-document.js';
import { RateLimitStorage } from '../throttling/rate-limit.storage.js';
import { Tracing } from '../tracing/tracing.js';

/** Starts the background work of a server when Nest initializes. In commands, which have no server, it does nothing. */
@Injectable()
export class Startup implements OnApplicationBootstrap {
  constructor(
    private readonly tracing: Tracing,
    private readonly tokens: StaticTokens,
    private readonly jwt: JwtVerifier,
    private readonly database: Database,
    private readonly storedResponses: StoredResponses,
    @Inject(ThrottlerStorage) private readonly rateLimits: RateLimitStorage,
    private readonly document: OpenApiDocument,
    private readonly host: HttpAdapterHost,
  ) {}

  /** @throws OperatorError without `configureApp`, or if the tokens file or the embedded database cannot be used */
  async onApplicationBootstrap(): Promise<void> {
    // Undefined in commands, despite its type.
    const adapter = this.host.httpAdapter as AbstractHttpAdapter | undefined;
    if (adapter) {
      // Otherwise, routes would have neither versions nor checks, and send properties that no `@Operation` documents.
      this.document.get();
      await this.tracing.start();
      await this.tokens.start();
      this.jwt.start();
      this.storedResponses.start();
      await Promise.all([this.database.start(), this.rateLimits.start()]);
    }
  }
}
