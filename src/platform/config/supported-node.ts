import { checkNode } from './check-node.js';
import { reportFailure } from './report-failure.js';

// Imported before everything else, some of which an older Node could not even load.
try {
  checkNode(process.versions.node);
} catch (error) {
  reportFailure(error);
}
