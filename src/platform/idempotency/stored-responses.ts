import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Database } from '../database/database.js';
import type { Send } from '../database/database-client.js';
import { databaseBusy, databaseUnavailable, meaningOf } from '../database/database-problem.js';
import { Problem } from '../problems/problem.js';
import { defineProblemType } from '../problems/problem-types.js';
import { Metrics } from '../observability/metrics.js';
import { withTimeout } from '../time/duration.js';
import { StoredResponse } from './stored-response.entity.js';

type KeyedRequest = Pick<StoredResponse, 'ownerId' | 'key' | 'digest'>;

type HandlerResponse = { readonly status: number } & Pick<StoredResponse, 'body'>;

const idempotencyKeyReused = defineProblemType({
  name: 'idempotency-key-reused',
  status: 422,
  title: 'Idempotency key reused',
  remedy:
    'This `Idempotency-Key` belongs to an earlier request with another body or path: keys are stored for 24 hours, ' +
    'unless the operator has set another time. Nothing was changed. Use a new key for each new request, and reuse a ' +
    'key only to retry the same request.',
});

export function idempotencyKeyReusedProblem(): Problem {
  return new Problem(idempotencyKeyReused, 'This Idempotency-Key belongs to another request: use a new key.');
}

/**
 * Takes a free or expired key, waiting for concurrent claims. Citus allows no functions in `ON CONFLICT`: times are
 * parameters. Casts keep the types of the result: a prepared statement fails after they have changed.
 */
const CLAIM = `
  INSERT INTO idempotency_keys AS kept (token_id, key, digest, expires_at)
  VALUES ($1, $2, $3, $5::timestamptz)
  ON CONFLICT (token_id, key) DO UPDATE SET
    digest = CASE WHEN kept.expires_at > $4::timestamptz THEN kept.digest ELSE excluded.digest END,
    status = CASE WHEN kept.expires_at > $4::timestamptz THEN kept.status END,
    body = CASE WHEN kept.expires_at > $4::timestamptz THEN kept.body END,
    expires_at = CASE WHEN kept.expires_at > $4::timestamptz THEN kept.expires_at ELSE excluded.expires_at END
  RETURNING digest::bytea, status::int, body::text`;

/** Stores the digest, too: a claim whose transaction could not begin may have committed that of another request. */
const STORE = 'UPDATE idempotency_keys SET digest = $3, status = $4, body = $5 WHERE token_id = $1 AND key = $2';

/** Maximum seconds between two deletions of expired responses. */
const LONGEST_PAUSE = 900;

/** The latest expiry of a full batch; no row if fewer responses have expired. */
const END_OF_BATCH = `
  SELECT expires_at::text AS end FROM idempotency_keys WHERE expires_at <= $1 ORDER BY expires_at OFFSET 999 LIMIT 1`;

const DELETE_EXPIRED = 'DELETE FROM idempotency_keys WHERE expires_at <= $1';

/** Another claim may violate an index that `REINDEX CONCURRENTLY` builds or replaces, which `ON CONFLICT` ignores. */
function rejectClaim(error: unknown): never {
  const isTaken = meaningOf(error) === 'constraint';
  throw isTaken ? databaseUnavailable(error, 'A concurrent request has the same Idempotency-Key: retry.') : error;
}

/** Stores the responses of requests with keys, so that each request runs once. */
@Injectable()
export class StoredResponses implements OnApplicationShutdown {
  private readonly logger = new Logger('StoredResponses');
  private readonly requests;
  private cleaning: NodeJS.Timeout | undefined;
  /** Running requests of this process, by owner and key. */
  private readonly running = new Map<string, Promise<unknown>>();

  constructor(
    @InjectRepository(StoredResponse) private readonly responses: Repository<StoredResponse>,
    private readonly database: Database,
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    this.requests = metrics.counter({
      name: 'idempotent_requests_total',
      help: 'Requests with an Idempotency-Key, by outcome',
      labels: { outcome: ['carried-out', 'replayed', 'key-reused', 'failed'] },
    });
  }

  /**
   * Runs `handle` in the transaction that stores its response, or returns the stored response. Concurrent requests with one
   * key wait for the first one, in any instance; if that fails, nothing is stored and the next one runs.
   *
   * @throws Problem if the key belongs to another request
   */
  async once(request: KeyedRequest, handle: () => Promise<HandlerResponse>) {
    const name = `${request.ownerId} ${request.key}`;
    // Waits without a connection, but at most as long as for one: each earlier request with the key may fail after a while.
    const deadline = performance.now() + this.configuration.DATABASE_CONNECTION_TIMEOUT * 1000;
    for (let other = this.running.get(name); other; other = this.running.get(name)) {
      const settled = Promise.allSettled([other]);
      await withTimeout(Math.max(0, deadline - performance.now()), settled).catch(() => Promise.reject(databaseBusy()));
    }
    const outcome = this.runUnlessTaken(request, handle).finally(() => this.running.delete(name));
    this.running.set(name, outcome);
    return outcome;
  }

  /** Deletes expired responses, in batches that keep within the time limit of statements. */
  async deleteExpired(): Promise<void> {
    const now = new Date();
    let batch: { end: string } | undefined;
    do {
      [batch] = await this.responses.query<{ end: string }[]>(END_OF_BATCH, [now]);
      await this.responses.query(DELETE_EXPIRED, [batch?.end ?? now]);
    } while (batch);
  }

  /** Deletes expired responses periodically. */
  start(): void {
    const pause = Math.min(this.configuration.IDEMPOTENCY_TTL, LONGEST_PAUSE) * 1000;
    const warn = (err: unknown) => this.logger.warn({ msg: 'expired responses not deleted', err });
    this.cleaning = setInterval(() => void this.deleteExpired().catch(warn), pause).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.cleaning);
  }

  private async runUnlessTaken({ ownerId, key, digest }: KeyedRequest, handle: () => Promise<HandlerResponse>) {
    let kept: (HandlerResponse & Pick<StoredResponse, 'digest'>) | undefined;
    const claim = async (send: Send) => {
      const now = Date.now();
      const values = [ownerId, key, digest, new Date(now), new Date(now + this.configuration.IDEMPOTENCY_TTL * 1000)];
      const rows = await send({ text: CLAIM, values, name: 'idempotency-claim' }).catch(rejectClaim);
      const [[stored, status, body]] = rows as [[Buffer, number | null, string | null]];
      if (status !== null) {
        kept = { status, body, digest: stored };
        throw new Error('The request does not run, because its Idempotency-Key is taken.');
      }
    };
    try {
      const response = await this.database.transaction(handle, {
        begin: claim,
        end: (send, { status, body }) =>
          send({ text: STORE, values: [ownerId, key, digest, status, body], name: 'idempotency-store', isText: true }),
      });
      this.requests.inc({ outcome: 'carried-out' });
      return { ...response, isReplay: false };
    } catch (error) {
      // The handler may have replaced the error of the claim.
      if (!kept) {
        this.requests.inc({ outcome: 'failed' });
        throw error;
      }
    }
    if (!kept.digest.equals(digest)) {
      this.requests.inc({ outcome: 'key-reused' });
      throw idempotencyKeyReusedProblem();
    }
    this.requests.inc({ outcome: 'replayed' });
    return { status: kept.status, body: kept.body, isReplay: true };
  }
}
