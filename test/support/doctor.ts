import type { Type } from '@nestjs/common';
import { createContext } from '../../src/app.js';
import { AppModule } from '../../src/app.module.js';
import { diagnose } from '../../src/platform/doctor/diagnose.js';
import type { Report, Result } from '../../src/platform/doctor/examine.js';

/** What `doctor` finds, in this process. */
export class Diagnosis {
  private constructor(readonly report: Report) {}

  /** @param environment - on top of any free ports. @param root - the module of the application */
  static async of(environment: NodeJS.ProcessEnv, root: Type = AppModule): Promise<Diagnosis> {
    const defaults = { LOG_LEVEL: 'silent', PORT: '0', METRICS_PORT: '0' };
    const report = await diagnose({ ...defaults, ...environment }, (configuration) => createContext(configuration, root));
    return new Diagnosis(report);
  }

  get names(): string[] {
    return this.report.checks.map(({ name }) => name);
  }

  /** All that something is to be done about, as `failed: what was found → what to mend`, by name. */
  get faults(): Record<string, string> {
    const faulty = this.report.checks.filter(({ status }) => status === 'warning' || status === 'failed');
    return Object.fromEntries(faulty.map(({ name, status, found, mend }) => [name, `${status}: ${found} → ${mend}`]));
  }

  /** What was found by a check, whatever it was. */
  find(name: string): Result {
    const result = this.report.checks.find((each) => each.name === name);
    if (!result) {
      throw new Error(`There is no check ${name}.`);
    }
    return result;
  }
}
