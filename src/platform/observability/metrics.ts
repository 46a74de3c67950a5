import { Injectable } from '@nestjs/common';
import { Registry } from 'prom-client';

/** What this process measures about itself; each application has its own. */
@Injectable()
export class Metrics {
  /** Where whoever measures something registers it. */
  readonly registry = new Registry();
}
