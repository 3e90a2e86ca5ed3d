import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignmentOf, hoveredName } from '../src/hover';

function at(line: string): [string, string] | undefined {
  const column = line.indexOf('|');
  const text = line.replace('|', '');
  const found = hoveredName(text, column);
  return found && [found.parts.join('/'), text.slice(found.start, found.end)];
}

test('a name is the path up to the mouse', () => {
  assert.deepEqual(at('x = self.f|c.weight @ x'), ['self/fc', 'self.fc']);
  assert.deepEqual(at('x = self.fc.wei|ght @ x'), ['self/fc/weight', 'self.fc.weight']);
  assert.deepEqual(at('x = self.layers[0].n|orm(x)'), ['self/layers/0/norm', 'self.layers[0].norm']);
  assert.deepEqual(at('loss = -(lo|g * target)'), ['log', 'log']);
});

test('there is no name at operators and numbers', () => {
  assert.equal(at('x |= y'), undefined);
  assert.equal(at('x = 1|2'), undefined);
});

const CODE = [
  'x = 0',
  'def forward(self, images):',
  '    x = self.conv(images)',
  '    y: Tensor = x',
  '    x = torch.relu(x)',
  '    if x == y:',
  '        return x',
];

// The line of the assignment, from 0, for the first or last `name` in a line.
function assigned(name: string, line: number, last = false): number | undefined {
  const text = CODE[line] ?? '';
  return assignmentOf(name, last ? text.lastIndexOf(name) : text.indexOf(name), line, (number) => CODE[number] ?? '');
}

test('a variable has the value of the last assignment before its use', () => {
  assert.equal(assigned('x', 6), 4);
  assert.equal(assigned('x', 4), 4);
  assert.equal(assigned('x', 4, true), 2);
  assert.equal(assigned('y', 5), 3);
});

test('assignments of other functions and arguments do not count', () => {
  assert.equal(assigned('images', 2), undefined);
  assert.equal(assigned('x', 2), 2);
});
