import { Injectable } from '@nestjs/common';

/**
 * Told of a SQL statement as it is sent.
 *
 * @param text - without parameters
 * @returns called when the statement has ended, with the error if it failed
 */
export type StatementObserver = (text: string) => (error?: unknown) => void;

/** Observers of all statements of this process register here, for metrics and traces. */
@Injectable()
export class StatementObservers {
  private readonly observers: StatementObserver[] = [];

  /** From now on it is told of every statement. It must not throw. */
  add(observer: StatementObserver): void {
    this.observers.push(observer);
  }

  /** Tells all. */
  readonly observe: StatementObserver = (text) => {
    const ends = this.observers.map((observer) => observer(text));
    return (error) => {
      ends.forEach((end) => {
        end(error);
      });
    };
  };
}
