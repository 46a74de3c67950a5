// The package as a whole loads OpenTelemetry's API, which is for those who want traces; these parts of it do not.

declare module 'prom-client/lib/registry.js' {
  export { Registry as default } from 'prom-client';
}

declare module 'prom-client/lib/counter.js' {
  export { Counter as default } from 'prom-client';
}
