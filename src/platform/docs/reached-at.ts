/** Names, addresses and ports, but nothing that a shell or a page would take for something else. */
const PLAIN_HOST = /^[\w.:[\]-]+$/;

/**
 * Origin at which a client has reached the service, as its request and the trusted proxies tell: `https://items.example.com`.
 * It is theirs to say, so it is good for examples that are shown to the same client, and for nothing else.
 */
export function reachedAt({ protocol, host = '' }: { protocol: string; host?: string }): string {
  return `${protocol === 'https' ? 'https' : 'http'}://${PLAIN_HOST.test(host) ? host : 'localhost'}`;
}
