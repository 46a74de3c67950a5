import { ok, warning } from '../check.js';
import { judgeClock } from './clock.js';
import { certainDistance, clockOffset } from './clock-offset.js';
import { connectionAdvice } from './connection-advice.js';
import { judgeRoleSetting } from './direct.js';
import { judgeLag } from './replica.js';
import { quoted } from './tables.js';

describe('the offset of another clock', () => {
  it('is that of the quickest answer', () => {
    const samples = [
      { asked: 0, answered: 100, theirs: 1050 },
      { asked: 200, answered: 210, theirs: 1203 },
      { asked: 300, answered: 340, theirs: 1340 },
    ];
    expect(clockOffset(samples)).toEqual({ ahead: 998, uncertainty: 5 });
  });

  it('is negative for one that is behind', () => {
    expect(clockOffset([{ asked: 1000, answered: 1000, theirs: 400 }])).toEqual({ ahead: -600, uncertainty: 0 });
  });

  it('needs a sample', () => {
    expect(() => clockOffset([])).toThrow('No clock');
  });

  it.each([
    [1000, 0, 'ok'],
    [1001, 0, 'warning'],
    [-1001, 0, 'warning'],
    [1400, 400, 'ok'],
    [30_000, 0, 'warning'],
    [30_001, 0, 'failed'],
    [-30_001, 0, 'failed'],
    [31_000, 1000, 'warning'],
    [200, 5000, 'ok'],
  ])('of %d ms, known to %d ms, is %s', (ahead, uncertainty, status) => {
    const finding = judgeClock({ ahead, uncertainty });
    expect(finding.status).toBe(status);
    expect(finding.found).toContain(`${Math.abs(ahead)} ms ${ahead < 0 ? 'behind' : 'ahead of'} this one, ±${uncertainty} ms`);
  });

  it('is certain only beyond its uncertainty', () => {
    expect(certainDistance({ ahead: -20, uncertainty: 5 })).toBe(15);
    expect(certainDistance({ ahead: 3, uncertainty: 5 })).toBe(0);
  });
});

it.each([
  ['connect ECONNREFUSED 127.0.0.1:1', 'Nothing listens there'],
  ['getaddrinfo ENOTFOUND db', 'cannot be looked up'],
  ['timeout expired', 'Packets get lost'],
  ['Connection terminated unexpectedly', 'It hangs up'],
  ['password authentication failed for user "items"', 'Correct the user and the password'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'Correct the user and the password'],
  ['no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", no encryption', 'sslmode=verify-full'],
  ['no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", SSL encryption', 'Let this address'],
  ['The server does not support SSL connections', 'take sslmode out'],
  ['self-signed certificate in certificate chain', 'sslrootcert'],
  ["Hostname/IP does not match certificate's altnames: Host: db.", 'another name'],
  ['certificate has expired', 'Renew the certificate'],
  ['database "itmes" does not exist', 'Create the database'],
  ['role "itmes" does not exist', 'Create the role'],
  ['sorry, too many clients already', 'PgBouncer'],
  ['the database system is starting up', 'Wait until it has started'],
  ['unsupported startup parameter: statement_timeout', 'DATABASE_DIRECT_URL'],
  ['something new', 'Look at the URL'],
])('explains %s', (message, mend) => {
  const error = new Error('No connection to the database.', { cause: new Error(message) });
  expect(connectionAdvice(error)).toEqual({
    found: `No connection to the database: ${message.replace(/\.$/, '')}`,
    mend: expect.stringContaining(mend),
  });
});

it.each([
  ['statement_timeout', 0, 'is not set'],
  ['lock_timeout', 0, 'is not set'],
  ['idle_in_transaction_session_timeout', 0, 'is not set'],
  ['statement_timeout', 3999, 'ends statements before'],
])('finds fault with the role setting %s = %d', (name, setting, text) => {
  expect(judgeRoleSetting({ name, setting }, 4000)).toEqual([
    warning(
      expect.stringContaining(text) as string,
      expect.stringContaining(`SET ${name} = '${name === 'lock_timeout' ? 2000 : 4000}ms'`) as string,
    ),
  ]);
});

it.each([
  ['statement_timeout', 4000],
  ['statement_timeout', 9000],
  ['lock_timeout', 1],
  ['idle_in_transaction_session_timeout', 1000],
])('finds none with %s = %d', (name, setting) => {
  expect(judgeRoleSetting({ name, setting }, 4000)).toEqual([]);
});

it.each([
  [{ bytes: 0, seconds: 4000 }, ok('x, up to date')],
  [{ bytes: -8, seconds: null }, ok('x, up to date')],
  [{ bytes: 8, seconds: null }, ok('x, 8 bytes behind')],
  [{ bytes: 8, seconds: 10 }, ok('x, 8 bytes behind, replaying what is 10 s old')],
  [{ bytes: 8, seconds: 10.6 }, warning('x, 8 bytes behind, replaying what is 11 s old', expect.any(String) as string)],
])('judges the lag %j', (lag, finding) => {
  expect(judgeLag('x', lag)).toEqual(finding);
});

it('quotes names', () => {
  expect(quoted('a"b')).toBe('"a""b"');
});
