import './platform/config/prepare-process.js';

// Imported dynamically: Node would load a static import before the preparation has run.
await import('./commands.js');
