import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { admit } from '../work/admit.ts';
import { logError, settings } from '../work/environment.ts';
import { readNewItem, readPageQuery } from '../work/input.ts';
import { Items, itemSchema, pageSchema } from '../work/items.ts';
import { failed, invalidBody, notFound, type Problem, PROBLEM_TYPE, problemJson } from '../work/problems.ts';

/** Fastify, which compiles serialisers from the schemas of responses. */
const app = Fastify();
const items = new Items();

app.addHook('onRequest', async (request, reply) => {
  const { headers, refusal } = await admit(request.raw);
  reply.headers(headers);
  return refusal && refuse(request, reply, refusal);
});

app.get('/v1/items', { schema: { response: { 200: pageSchema } } }, async (request, reply) => {
  const query = readPageQuery(request.query as Record<string, unknown>);
  return 'status' in query ? refuse(request, reply, query) : items.findPage(query);
});

app.post('/v1/items', { schema: { response: { 201: itemSchema } }, bodyLimit: 64 * 1024 }, async (request, reply) => {
  const item = readNewItem(request.body);
  return 'status' in item ? refuse(request, reply, item) : reply.code(201).send(await items.add(item));
});

app.setNotFoundHandler((request, reply) => refuse(request, reply, notFound));

app.setErrorHandler<{ readonly statusCode?: number }>((error, request, reply) => {
  const { statusCode = 500 } = error;
  if (statusCode < 500) {
    return refuse(request, reply, invalidBody('', 'syntax', 'must be a JSON object'));
  }
  logError(error);
  return refuse(request, reply, failed);
});

await app.listen({ port: settings.port, host: '127.0.0.1' });

function refuse({ url }: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  const [path = ''] = url.split('?', 1);
  return reply
    .code(problem.status)
    .headers(problem.headers ?? {})
    .type(PROBLEM_TYPE)
    .send(problemJson(problem, path));
}
