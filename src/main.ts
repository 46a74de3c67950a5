import './platform/config/prepare-process.js';

// Not before that has run.
await import('./start.js');
