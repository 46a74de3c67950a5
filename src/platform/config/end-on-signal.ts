// Imported first. Process 1 of a container has no default reaction to signals: until somebody handles them, as the
// application does once it is put together, they end the process here as they would end any other.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, (_name: NodeJS.Signals, number: number) => {
    if (process.listenerCount(signal) === 1) {
      process.exit(128 + number);
    }
  });
}
