import './platform/config/prepare-process.js';

// Imported dynamically, after the preparation.
const { bootstrap } = await import('./bootstrap.js');
await bootstrap();
