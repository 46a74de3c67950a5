import { causesOf } from './causes-of.js';

/** What to do about errors, by what they say: the first that fits. */
export type Advice = readonly (readonly [RegExp, string])[];

/** What to do about a connection that cannot be made, by what Node says of it. */
const NETWORK_ADVICE: Advice = [
  [/ECONNREFUSED/, 'Nothing listens there: start the server, or correct the host and the port in the URL.'],
  [/ENOTFOUND|EAI_AGAIN/, 'The name of the host cannot be looked up: correct it in the URL, or mend the DNS.'],
  [/altnames|ERR_TLS_CERT_ALTNAME_INVALID/, 'The certificate is for another name: use that one in the URL.'],
  [/certificate has expired|CERT_HAS_EXPIRED/, 'Renew the certificate of the server.'],
  [
    /self.signed certificate|unable to verify|unable to get (?:local )?issuer/i,
    'Name the certificate of its authority: sslrootcert=/path in a URL of PostgreSQL, NODE_EXTRA_CA_CERTS for all else.',
  ],
  [
    /wrong version number|packet length too long|EPROTO/,
    'It does not speak TLS there: use the right port, or a URL without TLS.',
  ],
  [
    /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timeout|timed out|No answer within/i,
    'Packets get lost: look at firewalls, security groups and network policies on the way, and whether the server is stuck.',
  ],
  [
    /ECONNRESET|EPIPE|terminated|Connection is closed|closed/i,
    'It hangs up: look at its log, and at proxies on the way. It may speak TLS only, or not at all.',
  ],
];

/**
 * What is wrong when a connection cannot be made, and what to do about it.
 *
 * @param error - of the attempt
 * @param advice - by what the server says, which comes before what Node does
 * @param otherwise - what to do when none fits
 */
export function adviceOn(error: unknown, advice: Advice, otherwise: string): { found: string; mend: string } {
  const found = causesOf(error).join(': ');
  const [, mend = otherwise] = [...advice, ...NETWORK_ADVICE].find(([pattern]) => pattern.test(found)) ?? [];
  return { found, mend };
}
