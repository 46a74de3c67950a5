import { type Advice, adviceOn } from '../network-advice.js';

/** What to do about a connection to PostgreSQL that cannot be made, by what `pg`, PostgreSQL or PgBouncer say of it. */
const ADVICE: Advice = [
  [/unsupported startup parameter/, 'This is PgBouncer: name the way around it as DATABASE_DIRECT_URL.'],
  [
    /password authentication failed|no password supplied|must be a string|no such user|auth failed/,
    'Correct the user and the password in the URL, percent-encoded, or set them with ALTER ROLE.',
  ],
  [/pg_hba\.conf.*no encryption/, 'The server wants TLS: add ?sslmode=verify-full to the URL.'],
  [/pg_hba\.conf/, 'Let this address, user and database in: pg_hba.conf of the server.'],
  [/does not support SSL/, 'Turn TLS on in the server (ssl = on), or take sslmode out of the URL.'],
  [/database "?.*"? does not exist|no such database/, 'Create the database, or correct its name in the URL.'],
  [/role "?.*"? (?:does not exist|is not permitted to log in)/, 'Create the role with LOGIN, or correct the user in the URL.'],
  [/permission denied for database/, 'GRANT CONNECT ON DATABASE … TO the role.'],
  [
    /too many (?:clients|connections)|remaining connection slots/,
    'Raise max_connections or the limit of the role, lower DATABASE_POOL_SIZE, or use PgBouncer.',
  ],
  [/starting up|shutting down|in recovery mode/, 'Wait until it has started; its log tells what it does.'],
  [/not currently accepting connections/, 'ALTER DATABASE … WITH ALLOW_CONNECTIONS true, or name another database.'],
];

/** @param error - of an attempt to connect. @returns what is wrong, and what to do about it */
export function connectionAdvice(error: unknown): { found: string; mend: string } {
  return adviceOn(error, ADVICE, 'Look at the URL, the network and the log of the server.');
}
