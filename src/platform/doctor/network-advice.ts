/** What to do about a connection that cannot be made, by what Node says of it. */
export const NETWORK_ADVICE: readonly (readonly [RegExp, string])[] = [
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
