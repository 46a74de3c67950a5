// Express 5 handles the rejections of handlers.
/* oxlint-disable oxc/no-async-endpoint-handlers */
import express, { type NextFunction, type Request, type Response } from 'express';
import { admit } from '../work/admit.ts';
import { logError, settings } from '../work/environment.ts';
import { readNewItem, readPageQuery } from '../work/input.ts';
import { Items } from '../work/items.ts';
import { failed, invalidBody, notFound, type Problem, PROBLEM_TYPE, problemJson } from '../work/problems.ts';

/** Express as it comes. */
const app = express();
const items = new Items();

app.use(async (request, response, next) => {
  const { headers, refusal } = await admit(request);
  response.set(headers);
  if (refusal) {
    refuse(request, response, refusal);
  } else {
    next();
  }
});

app.get('/v1/items', async (request, response) => {
  const query = readPageQuery(request.query);
  if ('status' in query) {
    refuse(request, response, query);
  } else {
    response.json(await items.findPage(query));
  }
});

app.post('/v1/items', express.json({ limit: '64kb' }), async (request, response) => {
  const item = readNewItem(request.body);
  if ('status' in item) {
    refuse(request, response, item);
  } else {
    response.status(201).json(await items.add(item));
  }
});

app.use((request, response) => {
  refuse(request, response, notFound);
});

// Express recognises error handlers by their four parameters.
app.use((error: { readonly status?: number }, request: Request, response: Response, _next: NextFunction) => {
  const { status = 500 } = error;
  if (status < 500) {
    refuse(request, response, invalidBody('', 'syntax', 'must be a JSON object'));
    return;
  }
  logError(error);
  refuse(request, response, failed);
});

app.listen(settings.port, '127.0.0.1');

function refuse({ path }: Request, response: Response, problem: Problem): void {
  response.status(problem.status).set(problem.headers).type(PROBLEM_TYPE).send(problemJson(problem, path));
}
