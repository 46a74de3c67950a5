import { stat, statfs } from 'node:fs/promises';
import type { Configuration } from '../config/configuration.js';
import { clusterIn, DataDirectoryError, DataDirectoryInUseError, existingPart } from '../database/embedded-database.js';
import { reasonOf } from '../errors/describe-error.js';
import type { Check } from './check.js';

/** Space on disk for a new embedded database, in MiB. */
const NEW_DATABASE = 64;

/** Opens the directory only if it has a database that no process uses. */
export function dataDirectoryCheck(
  { DATA_DIR: path, MIGRATE_ON_START }: Configuration,
  open: () => Promise<Check[]>,
): Check {
  return {
    name: 'data-directory',
    advice: 'Mount it writable, give it to the user of the service, free some space, or choose another one with DATA_DIR.',
    run: async () => {
      try {
        const existing = await existingPart(path);
        if (existing !== clusterIn(path)) {
          if (!MIGRATE_ON_START) {
            return { fine: false, found: `${path} has no database yet: run migrate` };
          }
          const { bavail, bsize } = await statfs(existing);
          const free = Math.floor((bavail * bsize) / 2 ** 20);
          const fine = free >= NEW_DATABASE;
          const lack = `it needs ${NEW_DATABASE} MiB, and the disk has ${free} MiB left`;
          return { fine, found: `${path} has no database yet: ${fine ? 'the first start creates it' : lack}` };
        }
        const { uid } = await stat(existing);
        if (uid !== process.getuid?.()) {
          return { fine: false, found: `${path} was not opened: run doctor as its owner, user ${uid}` };
        }
        return { fine: true, found: path, next: await open() };
      } catch (error) {
        if (error instanceof DataDirectoryInUseError) {
          return { fine: true, found: `${path} is in use by a running service` };
        }
        const reason = error instanceof DataDirectoryError ? error.fault : reasonOf(error);
        return { fine: false, found: `${path} cannot be used: ${reason}` };
      }
    },
  };
}
