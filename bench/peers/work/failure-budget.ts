/** Failed authentications of one address that are looked up at once, and how many more each second: the service's defaults. */
const BURST = 100;
const RATE = 10;

interface Account {
  left: number;
  at: number;
}

const accounts = new Map<string, Account>();

/** Whether an unknown token of an address may still be looked up; a token bucket. */
export function mayFail(address: string): boolean {
  const now = performance.now();
  const account = accounts.get(address) ?? { left: BURST, at: now };
  account.left = Math.min(BURST, account.left + ((now - account.at) / 1000) * RATE);
  account.at = now;
  accounts.set(address, account);
  return account.left >= 1;
}

export function noteFailure(address: string): void {
  const account = accounts.get(address);
  if (account) {
    account.left -= 1;
  }
}
