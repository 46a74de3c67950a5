import { LRUCache } from 'lru-cache';

/** Addresses whose failures are remembered; of those that were silent longest nothing is known any more. */
const ACCOUNTS = 10_000;

/** Between two reports about one address, in milliseconds. */
const REPORT_INTERVAL = 60_000;

/** What the budget is, and who hears that it is used up. */
export interface FailureBudgetOptions {
  /** Failures that an address may have at once, at least 1. */
  burst: number;
  /** How many more each second. */
  rate: number;
  /** Told at most once a minute of each address, with the attempts refused since the last time. */
  onExhausted(address: string, refused: number): void;
  /** Milliseconds that only go forward. */
  now?: () => number;
}

interface Waiting {
  readonly begin: (mayTry: boolean) => void;
  readonly fail: (error: unknown) => void;
  /** It is refused once the address has failed as often: then all that was under way when it came may have failed. */
  readonly until: number;
}

/** What is known of one address. */
interface Account {
  /** Failures that it may still have, as of `at`. */
  left: number;
  at: number;
  /** Failures so far. */
  failed: number;
  underWay: number;
  waiting: Set<Waiting>;
  refused: number;
  reportedAt: number;
}

/**
 * Bounds what the failed attempts of each address cost, by a token bucket. Attempts that succeed cost nothing. As that shows only
 * at their end, no more run at once than may fail, and the others wait to see: a crowd that is let in is not refused for its size.
 */
export class FailureBudget {
  private readonly accounts = new LRUCache<string, Account>({ max: ACCOUNTS });
  private readonly now: () => number;

  constructor(private readonly options: FailureBudgetOptions) {
    this.now = options.now ?? (() => performance.now());
  }

  /** Addresses that are known now. */
  get size(): number {
    return this.accounts.size;
  }

  /**
   * Makes an attempt, if the address may still fail.
   *
   * @param hasFailed - whether the outcome is a failure that counts
   * @returns undefined if it may not
   * @throws what the attempt throws, or one that was made meanwhile: it is no failure, but who waited would meet the same
   */
  async attempt<T>(address: string, make: () => Promise<T>, hasFailed: (outcome: T) => boolean): Promise<T | undefined> {
    const account = this.accountOf(address);
    if (!(await this.mayTry(account))) {
      this.report(address, account);
      return undefined;
    }
    try {
      const outcome = await make();
      const failures = hasFailed(outcome) ? 1 : 0;
      account.left -= failures;
      account.failed += failures;
      return outcome;
    } catch (error) {
      account.waiting.forEach(({ fail }) => {
        fail(error);
      });
      account.waiting.clear();
      throw error;
    } finally {
      account.underWay -= 1;
      this.goOn(address, account);
    }
  }

  /**
   * Whether an address may not make an attempt, and nothing under way can change that. Counts as an attempt that was refused.
   */
  refuses(address: string): boolean {
    const account = this.accounts.get(address);
    const isExhausted = account?.underWay === 0 && !this.hasPlace(account);
    if (isExhausted) {
      this.report(address, account);
    }
    return isExhausted;
  }

  private accountOf(address: string): Account {
    const known = this.accounts.get(address);
    if (known) {
      return known;
    }
    const account = {
      left: this.options.burst,
      at: this.now(),
      failed: 0,
      underWay: 0,
      waiting: new Set<Waiting>(),
      refused: 0,
      reportedAt: -Infinity,
    };
    this.accounts.set(address, account);
    return account;
  }

  /** Takes a place for an attempt: at once, when those under way have shown that there is one, or not at all. */
  private mayTry(account: Account): boolean | Promise<boolean> {
    if (this.hasPlace(account)) {
      account.underWay += 1;
      return true;
    }
    const until = account.failed + account.underWay;
    return account.underWay > 0 && new Promise((begin, fail) => account.waiting.add({ begin, fail, until }));
  }

  private hasPlace(account: Account): boolean {
    const now = this.now();
    const { burst, rate } = this.options;
    account.left = Math.min(burst, account.left + ((now - account.at) / 1000) * rate);
    account.at = now;
    return account.left - account.underWay >= 1;
  }

  /** What the rate gives back goes to those who wait, too, but nobody waits for that: a flood would wait for ever. */
  private goOn(address: string, account: Account): void {
    for (const next of account.waiting) {
      const hasPlace = this.hasPlace(account);
      if (!hasPlace && account.underWay > 0 && account.failed < next.until) {
        break;
      }
      account.underWay += hasPlace ? 1 : 0;
      account.waiting.delete(next);
      next.begin(hasPlace);
    }
    if (account.underWay === 0) {
      this.forgetIfFull(address, account);
    }
  }

  private forgetIfFull(address: string, account: Account): void {
    if (account.left >= this.options.burst && this.accounts.peek(address) === account) {
      this.accounts.delete(address);
    }
  }

  private report(address: string, account: Account): void {
    account.refused += 1;
    const now = this.now();
    if (now - account.reportedAt >= REPORT_INTERVAL) {
      account.reportedAt = now;
      this.options.onExhausted(address, account.refused);
      account.refused = 0;
    }
  }
}
