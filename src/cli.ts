import './platform/config/prepare-process.js';

// Imported dynamically, after the preparation.
await import('./commands.js');
