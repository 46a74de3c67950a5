import { Injectable } from '@nestjs/common';
import type { Check } from './check.js';

/** Where modules register what `doctor` is to look at, beside what the platform itself needs. */
@Injectable()
export class DoctorChecks {
  private readonly checks: Check[] = [];

  /** From now on `doctor` looks at this, too. Call it in the constructor of a module. */
  add(check: Check): void {
    this.checks.push(check);
  }

  /** In the order in which they were added. */
  all(): readonly Check[] {
    return this.checks;
  }
}
