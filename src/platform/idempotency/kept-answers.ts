import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { Database } from '../database/database.js';
import { Metrics } from '../observability/metrics.js';
import { KeptAnswer } from './kept-answer.entity.js';

/** A request that may be repeated: its owner's `familyId`, its key and its digest. */
type RepeatableRequest = Pick<KeptAnswer, 'ownerId' | 'key' | 'digest'>;

type Answer = { readonly status: number } & Pick<KeptAnswer, 'body'>;

/** An answer, and whether it was given before; undefined if the key belongs to another request. */
type Outcome = (Answer & { readonly isReplay: boolean }) | undefined;

const BATCH = 1000;

/** Seconds between two deletions of expired answers, at most. */
const LONGEST_PAUSE = 900;

/**
 * Takes a key that is free or has expired, of which the status is null then. Waits while another request is about to take it. Both times
 * are the process's: in a distributed table, no function may decide what is in conflict.
 */
const CLAIM = `
  INSERT INTO idempotency_keys AS kept (token_id, key, digest, expires_at)
  VALUES ($1, $2, $3, $5::timestamptz)
  ON CONFLICT (token_id, key) DO UPDATE SET
    digest = CASE WHEN kept.expires_at > $4::timestamptz THEN kept.digest ELSE excluded.digest END,
    status = CASE WHEN kept.expires_at > $4::timestamptz THEN kept.status END,
    body = CASE WHEN kept.expires_at > $4::timestamptz THEN kept.body END,
    expires_at = CASE WHEN kept.expires_at > $4::timestamptz THEN kept.expires_at ELSE excluded.expires_at END
  RETURNING digest, status, body`;

/** Lets one replica at a time delete: two would lock rows in different orders, and a distributed table cannot skip those locked. */
const TAKE_TURN = "SELECT pg_try_advisory_xact_lock(hashtext('idempotency_keys')) AS taken";

/** Until when a batch had expired at a moment; no row if it is less than a batch. */
const END_OF_BATCH = `
  SELECT expires_at::text AS end FROM idempotency_keys WHERE expires_at <= $1 ORDER BY expires_at OFFSET ${BATCH - 1} LIMIT 1`;

const DELETE_EXPIRED = 'DELETE FROM idempotency_keys WHERE expires_at <= $1';

/** Keeps the answers to requests that may be repeated, so that each is carried out once. */
@Injectable()
export class KeptAnswers implements OnApplicationShutdown {
  private readonly logger = new Logger('KeptAnswers');
  private readonly requests;
  private cleaning: NodeJS.Timeout | undefined;
  /** Requests of this process, by owner and key. */
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(
    @InjectRepository(KeptAnswer) private readonly answers: Repository<KeptAnswer>,
    private readonly database: Database,
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    this.requests = metrics.counter({
      name: 'items_idempotent_requests_total',
      help: 'Requests with an Idempotency-Key, by what became of them',
      labels: { outcome: ['carried-out', 'replayed', 'key-reused', 'failed'] },
    });
  }

  /**
   * Carries out a request, or gives the answer that it had before. Of those that come at once, on any replica, one is carried
   * out, and the others wait for it. If it fails, nothing was done and nothing is kept: the next one is carried out.
   *
   * @param carryOut - becomes one transaction with the keeping of its answer; ends at its first statement if the key is taken
   */
  async once(request: RepeatableRequest, carryOut: () => Promise<Answer>): Promise<Outcome> {
    const name = `${request.ownerId} ${request.key}`;
    // Those that wait for one of this process do so without a connection.
    for (let other = this.underWay.get(name); other; other = this.underWay.get(name)) {
      await other.catch(() => undefined);
    }
    const outcome = this.carryOutUnlessTaken(request, carryOut).finally(() => this.underWay.delete(name));
    this.underWay.set(name, outcome);
    return outcome;
  }

  /** Deletes what is kept no longer, unless another replica does. */
  async deleteExpired(): Promise<void> {
    const deleteBatch = async () => {
      const [turn] = await this.answers.query<{ taken: boolean }[]>(TAKE_TURN);
      if (!turn?.taken) {
        return false;
      }
      const now = new Date();
      const [batch] = await this.answers.query<{ end: string }[]>(END_OF_BATCH, [now]);
      await this.answers.query(DELETE_EXPIRED, [batch?.end ?? now]);
      return batch !== undefined;
    };
    while (await this.database.transaction(deleteBatch)) {
      // The locks of a batch are held for a short time only.
    }
  }

  /** Deletes expired answers from time to time. */
  start(): void {
    const clean = () =>
      this.deleteExpired().catch((error: unknown) => {
        this.logger.warn({ msg: 'expired answers not deleted', err: error });
      });
    this.cleaning = setInterval(() => void clean(), Math.min(this.configuration.IDEMPOTENCY_TTL, LONGEST_PAUSE) * 1000).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.cleaning);
  }

  private async carryOutUnlessTaken(request: RepeatableRequest, carryOut: () => Promise<Answer>): Promise<Outcome> {
    const { ownerId, key, digest } = request;
    let kept: (Answer & Pick<KeptAnswer, 'digest'>) | undefined;
    const claim = async (manager: EntityManager) => {
      const now = Date.now();
      const parameters = [ownerId, key, digest, new Date(now), new Date(now + this.configuration.IDEMPOTENCY_TTL * 1000)];
      const [{ status, ...rest }] = await manager.query<[Pick<KeptAnswer, 'digest' | 'status' | 'body'>]>(CLAIM, parameters);
      if (status !== null) {
        kept = { status, ...rest };
        throw new Error('This request is not carried out, as its Idempotency-Key is taken.');
      }
    };
    try {
      const answer = await this.database.transaction(async () => {
        const given = await carryOut();
        await this.answers.update({ ownerId, key }, given);
        return given;
      }, claim);
      this.requests.inc({ outcome: 'carried-out' });
      return { ...answer, isReplay: false };
    } catch (error) {
      // The handler may have made another error of that of the claim.
      if (!kept) {
        this.requests.inc({ outcome: 'failed' });
        throw error;
      }
      const isReplay = kept.digest.equals(digest);
      this.requests.inc({ outcome: isReplay ? 'replayed' : 'key-reused' });
      return isReplay ? { status: kept.status, body: kept.body, isReplay } : undefined;
    }
  }
}
