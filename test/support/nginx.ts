import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child, serverDirectory } from './child.js';
import { freePort } from './free-port.js';

/**
 * Starts nginx with idle connections to its servers. It strips `/catalog/`, and `/streamed/`, below which it passes bodies on as they
 * arrive instead of whole.
 *
 * @param servers - their ports; a request goes to another one if its connection is refused
 * @param port - of its own
 */
export async function startNginx(servers: readonly number[], port?: number) {
  const directory = serverDirectory('nginx');
  const [own, file] = [port ?? (await freePort()), join(directory, 'nginx.conf')];
  writeFileSync(file, configurationOf(directory, own, servers));
  const origin = `http://127.0.0.1:${own}`;
  // SIGKILL would leave its worker behind.
  const nginx = new Child('nginx', ['-c', file, '-e', 'stderr'], {}, 'SIGTERM');
  await nginx.becomes(async () => (await fetch(`${origin}/livez`)).status === 200);
  return { origin };
}

function configurationOf(directory: string, port: number, servers: readonly number[]): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // Without max_fails=0, a server that refuses a connection is left out for ten seconds, also if it is ready by then.
  return `
daemon off;
user root;
worker_processes 1;
pid ${directory}/pid;
error_log stderr notice;
events { worker_connections 4000; }
http {
  access_log off;
${temporary.map((name) => `  ${name}_temp_path ${directory}/${name};`).join('\n')}
  client_max_body_size 20m;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $http_host;
  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
  upstream service {
${servers.map((server) => `    server 127.0.0.1:${server} max_fails=0;`).join('\n')}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://service; }
    location /catalog/ { proxy_pass http://service/; }
    location /streamed/ { proxy_pass http://service/; proxy_request_buffering off; }
    location = /catalog { return 301 /catalog/; }
  }
}
`;
}
