/** A statement that is sent as it is, past TypeORM. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  /** The same for the same text: a connection keeps the plan under it. Undefined where none is to be kept. */
  readonly name?: string | undefined;
  /** Whether its columns are all of types that `pg` leaves as text. */
  readonly isText?: boolean;
}
