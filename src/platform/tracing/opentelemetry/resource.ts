import { hostname } from 'node:os';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { Configuration } from '../../config/configuration.js';
import { parseKeyValues } from '../../config/key-values.js';
import { SERVICE_NAME } from '../../config/service-name.js';

/** Who makes the traces: by what the operator says, and by default by service, version, machine or pod, and process. */
export function resourceOf(configuration: Configuration, version: string): Resource {
  const { OTEL_SERVICE_NAME: name, OTEL_RESOURCE_ATTRIBUTES: attributes = '' } = configuration;
  return defaultResource().merge(
    resourceFromAttributes({
      'service.name': SERVICE_NAME,
      'service.version': version,
      'service.instance.id': `${hostname()}:${process.pid}`,
      'host.name': hostname(),
      ...parseKeyValues(attributes),
      ...(name !== undefined && { 'service.name': name }),
    }),
  );
}
