import type { SigningKey } from './signing-key.js';

/** DER's numbers of types (X.690). */
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const NULL = 0x05;
const OBJECT_IDENTIFIER = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;

/** sha256WithRSAEncryption (RFC 8017, appendix C), and the attribute commonName (RFC 5280, appendix A.1). */
const SHA256_WITH_RSA = Buffer.from('2a864886f70d01010b', 'hex');
const COMMON_NAME = Buffer.from('550403', 'hex');

/** A certificate for an RSA key that it has signed itself (RFC 5280, section 4.1), in DER and Base64, as `x5c` has it. */
export async function selfSignedCertificate(key: SigningKey): Promise<string> {
  const algorithm = der(SEQUENCE, der(OBJECT_IDENTIFIER, SHA256_WITH_RSA), der(NULL));
  const attribute = der(SEQUENCE, der(OBJECT_IDENTIFIER, COMMON_NAME), der(UTF8_STRING, Buffer.from('mallory')));
  const name = der(SEQUENCE, der(SET, attribute));
  const validity = der(SEQUENCE, der(UTC_TIME, Buffer.from('250101000000Z')), der(UTC_TIME, Buffer.from('490101000000Z')));
  const publicKey = Buffer.from(key.publicPem.replace(/-----.*-----|\s/g, ''), 'base64');
  const content = der(SEQUENCE, der(INTEGER, Buffer.from([1])), algorithm, name, validity, name, publicKey);
  const signature = Buffer.from(await key.signatureOf(content), 'base64url');
  return der(SEQUENCE, content, algorithm, der(BIT_STRING, Buffer.from([0]), signature)).toString('base64');
}

function der(type: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : [0x82, Math.floor(length / 0x100), length % 0x100];
  return Buffer.concat([Buffer.from([type, ...size]), content]);
}
