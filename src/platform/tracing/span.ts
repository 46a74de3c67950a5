/** What a span says of its work, by the names of OpenTelemetry's semantic conventions where these have one. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A part of the work on a request, as whoever looks at its trace sees it. */
export interface Span {
  /**
   * Adds to what it says. What is undefined is left out, and tokens in texts are hidden; all else goes to the operator's collector as
   * it is: no values of rows, filters or bodies.
   */
  set(attributes: Attributes): void;
}

/** Whether it waits for somebody else, or is work of this process. */
export type SpanKind = 'client' | 'internal';

/** A span of which its owner says when it ends. */
export interface OpenSpan extends Span {
  /** 32 hexadecimal digits, the same for all spans of a trace. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether it will be exported: of a trace that is not sampled, ids are all that there is. */
  readonly isSampled: boolean;
  /** Whether the request that it is part of has been answered. */
  readonly isOver: boolean;
  /**
   * Begins a span of what is done on its behalf.
   *
   * @param known - what it says from its beginning, which nobody looks through for tokens: nothing that clients sent
   */
  begin(name: string, kind: SpanKind, known?: Attributes): OpenSpan;
  /** Gives it another name: one of few, whatever clients send. */
  rename(name: string): void;
  /** Marks it as failed. @param errorType - a code or a class of errors, never a message: these quote values */
  fail(errorType: string): void;
  end(): void;
  /** The headers by which another service continues its trace (W3C Trace Context). */
  headers(): Record<string, string>;
}
