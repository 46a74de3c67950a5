import { checkNode, OLDEST_NODE } from '../../config/check-node.js';
import { type Check, failed, type Finding, ok, warning } from '../check.js';

/** The Node that runs this. Each command refuses one that is too old before it can come so far, `doctor` too. */
export const nodeCheck: Check = { name: 'node', run: () => judgeNode(process.versions.node) };

/** @param version - like `26.10.0` */
export function judgeNode(version: string): Finding {
  try {
    checkNode(version);
  } catch (error) {
    return failed(`Node ${version}`, (error as Error).message);
  }
  return Number.parseInt(version, 10) === OLDEST_NODE
    ? ok(`Node ${version}`)
    : warning(
        `Node ${version}, and the service was tested on ${OLDEST_NODE}`,
        `Use Node ${OLDEST_NODE}, or run the tests on this one.`,
      );
}
