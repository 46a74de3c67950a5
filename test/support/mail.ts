import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { listen } from './listen.js';

export interface Delivery {
  key: string;
  recipient: string;
  text: string;
}

/** A real server that takes mail, fails or does not respond. */
export class MailServer {
  /** All requests, in order. */
  readonly deliveries: Delivery[] = [];
  /** How many of the next requests fail. */
  failures = 0;
  /** Whether it leaves requests without a response until {@link release}. */
  holds = false;
  url = '';
  private held: ServerResponse[] = [];

  static async start(): Promise<MailServer> {
    const mail = new MailServer();
    const server = createServer((request, response) => void mail.accept(request, response));
    mail.url = `http://127.0.0.1:${await listen(server)}`;
    return mail;
  }

  /** Of one recipient. */
  to(recipient: string): Delivery[] {
    return this.deliveries.filter((delivery) => delivery.recipient === recipient);
  }

  release(): void {
    this.holds = false;
    this.held.forEach((response) => response.writeHead(204).end());
    this.held = [];
  }

  private async accept(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await json(request)) as Omit<Delivery, 'key'>;
    this.deliveries.push({ key: String(request.headers['idempotency-key']), ...body });
    if (this.holds) {
      this.held.push(response);
    } else if (this.failures > 0) {
      this.failures -= 1;
      response.writeHead(500).end();
    } else {
      response.writeHead(204).end();
    }
  }
}
