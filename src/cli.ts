import './platform/config/supported-node.js';
import './platform/config/exclude-environment.js';
import './platform/config/report-uncaught.js';
import './platform/config/end-on-signal.js';
import './platform/config/allocate-young.js';
import './platform/config/compile-cache.js';

// Not before all that has run.
await import('./commands.js');
