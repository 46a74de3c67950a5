import { checkNode } from './check-node.js';
import { OperatorError } from './operator-error.js';

describe('Node', () => {
  it.each(['26.0.0', '26.10.0', '28.1.0', process.versions.node])('is new enough: %s', (version) => {
    expect(() => checkNode(version)).not.toThrow();
  });

  it.each(['20.19.0', '24.99.0'])('is too old, and the message says what to do: %s', (version) => {
    expect(() => checkNode(version)).toThrow(OperatorError);
    expect(() => checkNode(version)).toThrow(/npm run start:prod/);
  });
});
