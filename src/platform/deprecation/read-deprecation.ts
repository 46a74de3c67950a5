/** What clients are told of an operation that will be removed. */
export interface DeprecationOptions {
  /** Day from which on it is deprecated, `YYYY-MM-DD`. That is the day on which it is announced, or a later one. */
  since: string;
  /** Day from which on it may be gone, `YYYY-MM-DD`, at least 12 months after `since`. */
  sunset: string;
  /** What explains what to use instead: an absolute URL, or a path of this service. */
  link: string;
}

/** The same, checked; both days begin at midnight UTC. */
export interface Deprecation {
  readonly since: Date;
  readonly sunset: Date;
  readonly link: string;
}

const NOTICE = Temporal.Duration.from({ months: 12 });

/** What RFC 3986 lets a URI consist of, and so nothing that ends a `Link` before its time. */
const URI = /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/;

/**
 * Checks what a decorator was given.
 *
 * @throws Error that says how to mend it
 */
export function readDeprecation({ since, sunset, link }: DeprecationOptions): Deprecation {
  const [from, until] = [readDay('since', since), readDay('sunset', sunset)];
  const earliest = from.add(NOTICE);
  if (Temporal.PlainDate.compare(until, earliest) < 0) {
    throw new Error(`sunset is ${sunset}, and clients are told 12 months ahead: write ${earliest.toString()} or later.`);
  }
  if (!isLink(link)) {
    throw new Error(`link is "${link}": write an absolute URL, such as https://example.com/new, or a path, such as /docs.`);
  }
  return { since: atMidnight(from), sunset: atMidnight(until), link };
}

function readDay(name: string, text: string): Temporal.PlainDate {
  try {
    if (/^\d{4}-\d{2}-\d{2}$/.test(text)) {
      return Temporal.PlainDate.from(text, { overflow: 'reject' });
    }
  } catch {
    // A day that no calendar has, such as 2026-02-30.
  }
  throw new Error(`${name} is "${text}": write a day, such as 2026-01-31.`);
}

function isLink(text: string): boolean {
  const isPath = /^\/(?!\/)/.test(text);
  return URI.test(text) && (isPath || (/^https?:\/\//.test(text) && URL.canParse(text)));
}

function atMidnight(day: Temporal.PlainDate): Date {
  return new Date(day.toZonedDateTime('UTC').epochMilliseconds);
}
