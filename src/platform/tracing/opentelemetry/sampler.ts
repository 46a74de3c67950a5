import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { Configuration } from '../../config/configuration.js';

const PARENT_BASED = 'parentbased_';

/** What decides whether a trace is exported. */
export function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Configuration): Sampler {
  return name.startsWith(PARENT_BASED)
    ? new ParentBasedSampler({ root: byName(name.slice(PARENT_BASED.length), ratio) })
    : byName(name, ratio);
}

function byName(name: string, ratio: number): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    default:
      return new TraceIdRatioBasedSampler(ratio);
  }
}
