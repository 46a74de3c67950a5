import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Database } from '../database/database.js';
import { CONFLICT, sqlState } from '../database/database-problem.js';
import type { RunStatement } from '../database/transactions.js';
import { type EventCounter, Metrics } from '../observability/metrics.js';
import { KeptAnswer } from './kept-answer.entity.js';

/** A request that may be repeated. */
interface RepeatableRequest {
  /** `familyId` of who makes it. */
  ownerId: string;
  key: string;
  digest: Buffer;
}

/** What answers a request. */
export interface Answer {
  /** HTTP status code. */
  status: number;
  /** JSON; null for none. */
  body: string | null;
}

/** An answer, and whether it was given before. */
type GivenAnswer = Answer & { isReplay: boolean };

/** The same key was used for another request. */
export class KeyReusedError extends Error {
  override readonly name = 'KeyReusedError';
}

/** Expired answers deleted by one statement: it holds its locks for a short time only. */
const BATCH = 1000;

/** Expired answers are deleted this many times within the time for which answers are kept; seconds between two times. */
const CLEANUPS = 100;
const SHORTEST_PAUSE = 1;
const LONGEST_PAUSE = 900;

/** How often a request is tried that conflicts with what happens at the same time. */
const ATTEMPTS = 3;

/** Ends a handler at its first statement: the request was carried out before, or its key belongs to another one. */
class NotCarriedOutError extends Error {
  override readonly name = 'NotCarriedOutError';

  constructor(readonly outcome: GivenAnswer | KeyReusedError) {
    super('This request is not carried out, as its Idempotency-Key is taken.');
  }
}

/** What became of a request with a key. */
const OUTCOMES = ['carried-out', 'replayed', 'key-reused', 'failed'] as const;

/** Keeps the answers to requests that may be repeated, so that each is carried out once. */
@Injectable()
export class KeptAnswers implements OnApplicationShutdown {
  private readonly logger = new Logger('KeptAnswers');
  private readonly requests: EventCounter<{ readonly outcome: typeof OUTCOMES }>;
  private cleaning: NodeJS.Timeout | undefined;
  /** Requests of this process, by owner and key. */
  private readonly underWay = new Map<string, Promise<unknown>>();
  /** Runs what goes on beyond the request that gave rise to it. */
  private readonly outside = AsyncLocalStorage.snapshot();

  constructor(
    @InjectRepository(KeptAnswer) private readonly answers: Repository<KeptAnswer>,
    private readonly database: Database,
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    this.requests = metrics.counter({
      name: 'items_idempotent_requests_total',
      help: 'Requests with an Idempotency-Key, by what became of them',
      labels: { outcome: OUTCOMES },
    });
  }

  /**
   * Carries out a request, or gives the answer that it had before. Of those that come at once, on any replica, one is carried
   * out, and the others wait for it. If it fails, nothing was done and nothing is kept: the next one is carried out.
   *
   * @param carryOut - becomes one transaction with the keeping of its answer; ends at its first statement if the key is taken
   * @throws KeyReusedError when the key belongs to another request
   */
  async once(request: RepeatableRequest, carryOut: () => Promise<Answer>): Promise<GivenAnswer> {
    this.cleanNowAndThen();
    const name = `${request.ownerId} ${request.key}`;
    // Those that wait for one of this process do so without a connection.
    for (let other = this.underWay.get(name); other; other = this.underWay.get(name)) {
      await other.catch(() => undefined);
    }
    const answer = this.attempt(request, carryOut).finally(() => this.underWay.delete(name));
    this.underWay.set(name, answer);
    try {
      const given = await answer;
      this.requests.inc({ outcome: given.isReplay ? 'replayed' : 'carried-out' });
      return given;
    } catch (error) {
      this.requests.inc({ outcome: error instanceof KeyReusedError ? 'key-reused' : 'failed' });
      throw error;
    }
  }

  /** Deletes what is kept no longer. Replicas that do it at once share the work. */
  async deleteExpired(): Promise<void> {
    let deleted: number;
    do {
      const [, count] = (await this.answers.query(
        `DELETE FROM idempotency_keys WHERE (token_id, key) IN (
           SELECT token_id, key FROM idempotency_keys WHERE expires_at <= now()
           ORDER BY expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
      )) as [unknown, number];
      deleted = count;
    } while (deleted === BATCH);
  }

  onApplicationShutdown(): void {
    clearTimeout(this.cleaning);
    this.cleaning = undefined;
  }

  /** Where the database isolates transactions more strictly than it does by default, those that wait fail, and may try again. */
  private async attempt(request: RepeatableRequest, carryOut: () => Promise<Answer>): Promise<GivenAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.carryOutUnlessTaken(request, carryOut);
      } catch (error) {
        if (sqlState(error) !== CONFLICT || attempt === ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  private async carryOutUnlessTaken(request: RepeatableRequest, carryOut: () => Promise<Answer>): Promise<GivenAnswer> {
    let refusal: NotCarriedOutError | undefined;
    const claimOrRefuse = async (run: RunStatement) => {
      const outcome = await this.claim(run, request);
      if (outcome) {
        refusal = new NotCarriedOutError(outcome);
        throw refusal;
      }
    };
    try {
      return await this.database.transaction(async () => {
        const answer = await carryOut();
        await this.answers.update({ ownerId: request.ownerId, key: request.key }, answer);
        return { ...answer, isReplay: false };
      }, claimOrRefuse);
    } catch (error) {
      // The handler may have made another error of it.
      if (!refusal) {
        throw error;
      }
      if (refusal.outcome instanceof KeyReusedError) {
        throw refusal.outcome;
      }
      return refusal.outcome;
    }
  }

  /**
   * Takes the key, if it is free or has expired. Waits while another request is about to take it.
   *
   * @returns undefined if the request is to be carried out
   */
  private async claim(
    run: RunStatement,
    { ownerId, key, digest }: RepeatableRequest,
  ): Promise<GivenAnswer | KeyReusedError | undefined> {
    for (;;) {
      const claimed = await run(
        `INSERT INTO idempotency_keys AS kept (token_id, key, digest, expires_at)
         VALUES ($1, $2, $3, now() + make_interval(secs => $4))
         ON CONFLICT (token_id, key) DO UPDATE
           SET digest = excluded.digest, status = NULL, body = NULL, expires_at = excluded.expires_at
           WHERE kept.expires_at <= now() OR kept.status IS NULL
         RETURNING true`,
        [ownerId, key, digest, this.configuration.IDEMPOTENCY_TTL],
      );
      if (claimed.rows.length > 0) {
        return undefined;
      }
      const { rows } = await run('SELECT digest, status, body FROM idempotency_keys WHERE token_id = $1 AND key = $2', [
        ownerId,
        key,
      ]);
      const [kept] = rows as Pick<KeptAnswer, 'digest' | 'status' | 'body'>[];
      if (kept && !kept.digest.equals(digest)) {
        return new KeyReusedError();
      }
      if (kept?.status) {
        return { status: kept.status, body: kept.body, isReplay: true };
      }
      // It expired between the two statements.
    }
  }

  /** From the first answer on that this process keeps. */
  private cleanNowAndThen(): void {
    const seconds = Math.max(SHORTEST_PAUSE, Math.min(this.configuration.IDEMPOTENCY_TTL / CLEANUPS, LONGEST_PAUSE));
    const clean = async () => {
      await this.deleteExpired().catch((error: unknown) => {
        this.logger.warn({ msg: 'expired answers not deleted', err: error });
      });
      this.cleaning?.refresh();
    };
    this.cleaning ??= this.outside(() => setTimeout(() => void clean(), seconds * 1000).unref());
  }
}
