/** Names that Prometheus uses itself, or that Node.js has before its metrics. */
const RESERVED = /^(?:go|node|nodejs|process|prometheus|scrape)$/;

/** @returns why a service cannot have this name, with the fix, or undefined */
export function faultOf(name: string): string | undefined {
  if (!/^[a-z][a-z0-9]{1,19}$/.test(name)) {
    return `"${name}" cannot begin metrics and names in DNS: write 2 to 20 of a-z and 0-9, a letter first, such as orders.`;
  }
  return RESERVED.test(name) ? `Metrics of Node.js and Prometheus begin with ${name}: choose another name.` : undefined;
}

/** Where `%` is the name of the service. A feature may have it in any other form: `/v1/%`, `%:read`, `%_name_id_idx`. */
const FORMS = [
  String.raw`(?<=\bSERVICE_NAME = ')%`,
  // Metrics, tokens, roles and databases. PostgreSQL ends names of indexes and constraints so.
  String.raw`(?:\b|(?<=\\b))%(?=_(?!\w*(?:idx|key|check|seq|excl)\b))`,
  String.raw`(?<![\w-])%(?=-(?:service|client|development|api|test|bench|soak|mutants|guide|disk|declared|log|a)\b)`,
  String.raw`\b%(?=-(?:\$|'))`,
  // Attributes of spans, hosts and files.
  String.raw`\b%(?=\.(?:authentication\.|exclusive_work\.|rate_limit\.|request\.(?:id|aborted)|example\b|dump\b))`,
  String.raw`(?<=\brealm=\\?")%(?=\\?")`,
  // PostgreSQL and Redis.
  String.raw`(?<=\b(?:postgres(?:ql)?|mysql):\/\/(?:\$\{[^}]*\}|[^\s'"\x60])*)%\b`,
  String.raw`(?<=\b(?:ROLE|DATABASE|OWNER) |\\connect |application_name ?= ?'?|--username=|\bPOSTGRES_\w+: |@\$1)%\b(?!:)`,
  String.raw`\b%(?=@\$1|:rate-limit)|(?<= name=)%(?= )|(?<=\bREDIS_KEY_PREFIX\b[^\n]*[=\x60'])%(?=:)`,
  // Kubernetes, Docker, proxies.
  String.raw`(?<=[ :]-n | namespace |part-of: |\bnamespace: |/run/secrets/|proxy_pass http://)%\b(?!:)`,
  String.raw`(?<=\bexec )%(?= node)|(?<=-v )%(?=:\/data)|(?<=^name: )%$|(?<=^  )%(?=:$)`,
  // Labels of Prometheus and OpenTelemetry, and the audience of JWTs.
  String.raw`(?<=\bjob_name: |\bjob="|\bservice: '?|\bservice=\\?"|'service\.name': '|_AUDIENCE: ')%\b(?!:)`,
  String.raw`(?<=\bOTEL_SERVICE_NAME\b[^\n]*\x60)%\b`,
];

/** What the alerts are called after the name of the service. */
export function alertsIn(rules: string): string[] {
  return [...rules.matchAll(/\balert: [A-Z][a-z0-9]+(\w+)/g)].map(([, alert = '']) => alert);
}

/** All places where a text has the name of a service, also in that of an alert and in its anchor. */
export function formsOf(name: string, alerts: readonly string[]): RegExp {
  const title = inCaseOf('A', name);
  const others = [
    String.raw`\b${title}(?= Service\b)|(?<!List)${title}(?=Client)|\b${title}(?=(?:${alerts.join('|')})\b|\\w)`,
    String.raw`(?<=#)${name}(?=(?:${alerts.join('|').toLowerCase()})\b)`,
  ];
  const forms = [...FORMS.map((form) => form.replaceAll('%', name)), ...others].join('|');
  // Looks behind only where the name is: at each character it would take seconds.
  return new RegExp(`(?=${name}|${title})(?:${forms})`, 'gm');
}

export function inCaseOf(found: string, name: string): string {
  return /^[A-Z]/.test(found) ? name.charAt(0).toUpperCase() + name.slice(1) : name;
}
