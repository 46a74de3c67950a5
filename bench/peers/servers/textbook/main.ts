import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import {
  type ArgumentsHost,
  Catch,
  ClassSerializerInterceptor,
  type ExceptionFilter,
  HttpException,
  Module,
  type Provider,
  ValidationPipe,
} from '@nestjs/common';
import { APP_GUARD, NestFactory, Reflector } from '@nestjs/core';
import { AuthGuard, PassportModule } from '@nestjs/passport';
import { ThrottlerModule } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import { DataSource } from 'typeorm';
import { ACCESS_TOKENS, AccessToken, BearerStrategy, TokenThrottlerGuard } from './auth.js';
import { Item, ITEMS, ItemsController, ItemsService } from './items.js';

const { PORT = '', DATABASE_URL = '', DATABASE_POOL_SIZE, RATE_LIMIT, RATE_LIMIT_WINDOW } = process.env;

/** As `@nestjs/typeorm` provides them. */
const databaseProviders: Provider[] = [
  {
    provide: DataSource,
    useFactory: () =>
      new DataSource({
        type: 'postgres',
        url: DATABASE_URL,
        poolSize: Number(DATABASE_POOL_SIZE),
        // As long as the other servers keep them.
        extra: { idleTimeoutMillis: 30_000 },
        installExtensions: false,
        entities: [Item, AccessToken],
      }).initialize(),
  },
  { provide: ITEMS, inject: [DataSource], useFactory: (source: DataSource) => source.getRepository(Item) },
  { provide: ACCESS_TOKENS, inject: [DataSource], useFactory: (source: DataSource) => source.getRepository(AccessToken) },
];

/** A service as the documentation of Nest and TypeORM shows. */
@Module({
  imports: [
    PassportModule,
    ThrottlerModule.forRoot([{ limit: Number(RATE_LIMIT), ttl: Number(RATE_LIMIT_WINDOW) * 1000, blockDuration: 0 }]),
  ],
  controllers: [ItemsController],
  providers: [
    ...databaseProviders,
    ItemsService,
    BearerStrategy,
    { provide: APP_GUARD, useClass: AuthGuard('bearer') },
    { provide: APP_GUARD, useClass: TokenThrottlerGuard },
  ],
})
class AppModule {}

/** Name and title of the problems, by their status. */
const kinds: Readonly<Record<number, readonly [string, string]>> = {
  400: ['bad-request', 'Bad request'],
  401: ['unauthorized', 'Missing or invalid token'],
  404: ['not-found', 'Not found'],
  429: ['rate-limited', 'Rate limited'],
  500: ['internal-error', 'Internal error'],
};

/** Sends errors as problems (RFC 9457). */
@Catch()
class ProblemFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    const status = error instanceof HttpException ? error.getStatus() : 500;
    const [name, title] = kinds[status] ?? ['other', 'Error'];
    let detail = error instanceof HttpException ? error.message : 'The service failed.';
    if (status === 401) {
      const fault = request.headers.authorization === undefined ? '' : ', error="invalid_token"';
      response.setHeader('WWW-Authenticate', `Bearer realm="items"${fault}`);
      detail = 'A valid bearer token is required.';
    }
    const type = `/docs/problems#${name}`;
    response
      .status(status)
      .type('application/problem+json')
      .send(JSON.stringify({ type, title, status, detail, instance: request.path, requestId: randomUUID() }));
  }
}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }));
app.useGlobalInterceptors(new ClassSerializerInterceptor(app.get(Reflector)));
app.useGlobalFilters(new ProblemFilter());
await app.listen(PORT, '127.0.0.1');
