import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { containerOf, development, environmentOf, podOf } from './support/overlays.js';

describe('development', () => {
  it('is one pod on one volume, and nothing else', () => {
    expect(development.all.map(({ kind }) => kind).toSorted()).toEqual(
      ['ConfigMap', 'Deployment', 'PersistentVolumeClaim', 'Service', 'ServiceAccount'].toSorted(),
    );
    expect(development.deployment.spec.replicas).toBe(1);
    expect(development.only('PersistentVolumeClaim').spec?.accessModes).toEqual(['ReadWriteOnce']);
  });

  it('never runs two processes on the data directory', () => {
    expect(development.deployment.spec.strategy).toEqual({ type: 'Recreate' });
  });

  it('keeps the embedded database on the volume, which is the only place it can write to', () => {
    const container = containerOf(podOf(development));
    const { DATABASE_URL, DATA_DIR, MIGRATE_ON_START } = readConfiguration(environmentOf(development, container));
    expect({ DATABASE_URL, MIGRATE_ON_START }).toEqual({ DATABASE_URL: undefined, MIGRATE_ON_START: true });
    expect(container.volumeMounts).toEqual([{ name: 'data', mountPath: DATA_DIR }]);
    expect(podOf(development).securityContext?.fsGroup).toBe(podOf(development).securityContext?.runAsGroup);
  });
});
