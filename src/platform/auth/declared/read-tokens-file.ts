import { constants, open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';

/** In bytes; room for some ten thousand tokens. */
const LARGEST = 1024 * 1024;

/**
 * The bytes of a file of tokens.
 *
 * @throws Error when there is none, or it cannot be such a file
 */
export async function readTokensFile(path: string): Promise<Buffer> {
  // Without O_NONBLOCK, a pipe would be waited for until somebody writes into it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) {
      throw new Error('It is no regular file.');
    }
    // One byte more than there may be, whatever size the file says that it has.
    const content = await buffer(file.createReadStream({ end: LARGEST, autoClose: false }));
    if (content.length > LARGEST) {
      throw new Error(`It is larger than ${LARGEST} bytes.`);
    }
    return content;
  } finally {
    await file.close();
  }
}
