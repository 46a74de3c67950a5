import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportPKCS8 } from 'jose';
import type { SigningKey } from './signing-key.js';
import { testDirectory } from './test-database.js';

/** A certificate for an RSA key that it has signed itself, in DER and Base64, as `x5c` has it. */
export async function selfSignedCertificate(key: SigningKey): Promise<string> {
  const file = join(testDirectory(), `${key.kid}.pem`);
  writeFileSync(file, await exportPKCS8(key.privateKey));
  const args = ['req', '-x509', '-key', file, '-subj', '/CN=mallory', '-outform', 'DER'];
  return execFileSync('openssl', args, { stdio: 'pipe' }).toString('base64');
}
