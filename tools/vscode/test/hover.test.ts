import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hoveredPath } from '../src/hover';

function at(line: string): [string, string] | undefined {
  const column = line.indexOf('|');
  const text = line.replace('|', '');
  const found = hoveredPath(text, column);
  return found && [found.expression, text.slice(found.start, found.end)];
}

test('attributes of a module are a path in its scope', () => {
  assert.deepEqual(at('x = self.f|c.weight @ x'), ['fc', 'self.fc']);
  assert.deepEqual(at('x = self.fc.wei|ght @ x'), ['fc/weight', 'self.fc.weight']);
  assert.deepEqual(at('x = self.layers[0].n|orm(x)'), ['layers/0/norm', 'self.layers[0].norm']);
});

test('a name by itself is looked up as it is', () => {
  assert.deepEqual(at('loss = -(lo|g * target)'), ['log', 'log']);
});

test('there is nothing at self, at operators and outside of names', () => {
  assert.equal(at('x = se|lf.fc(x)'), undefined);
  assert.equal(at('x |= y'), undefined);
  assert.equal(at('x = 1|2'), undefined);
});
