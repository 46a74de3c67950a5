import { OperatorError } from './operator-error.js';

/** The release that the service is developed, tested and shipped on; older ones lack parts that it uses. */
const OLDEST_NODE = 26;

/**
 * Refuses a Node that is too old at the start, rather than fail on it later in places that are seldom reached.
 *
 * @param version - like `26.10.0`
 * @throws OperatorError when it is older than 26
 */
export function checkNode(version: string): void {
  if (Number.parseInt(version, 10) < OLDEST_NODE) {
    throw new OperatorError(
      `This is Node ${version}, and the service needs ${OLDEST_NODE} or newer. ` +
        'Start it with npm (`npm run start:prod`), which uses the Node that the project brings along, or install a newer one.',
    );
  }
}
