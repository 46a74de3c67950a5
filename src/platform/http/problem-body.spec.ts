import { badRequest } from './http-problem-types.js';
import { Problem } from './problem.js';
import { problemJson } from './problem-body.js';

it.each(['\n', '\t', '\u0001', '\\', '"'])('a problem is JSON where a JWT comes behind %j', (character) => {
  const detail = `${character}eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln`;
  const body: unknown = JSON.parse(problemJson(new Problem(badRequest, detail), '/v1', 'id'));
  expect(body).toMatchObject({ detail: `${character}***` });
});
