import { describe, expect, it } from 'vitest';
import { sampleNode, sampleScope, sampleView } from '../testing/samples';
import { buildRows, treeKey, typeAhead } from './tree_rows';

const VIEWS = new Map([
  ['', sampleView('', [sampleScope('forward', 2), sampleScope('optimizer', 1)])],
  ['forward', sampleView('forward', [sampleNode('forward/exp'), sampleNode('forward/log')])],
]);
const ROWS = buildRows(new Set(['forward']), VIEWS, new Map());

describe('rows', () => {
  it('show open scopes with their places among siblings', () => {
    expect(ROWS.map((row) => [row.name, row.level, row.position, row.siblings, row.open])).toEqual([
      ['forward', 1, 1, 2, true],
      ['forward/exp', 2, 1, 2, null],
      ['forward/log', 2, 2, 2, null],
      ['optimizer', 1, 2, 2, false],
    ]);
  });

  it('tell what is being loaded and what could not be', () => {
    const open = new Set(['optimizer']);
    expect(buildRows(open, VIEWS, new Map()).at(-1)?.note).toBe('loading');
    expect(buildRows(open, VIEWS, new Map([['optimizer', 'gone']])).at(-1)?.note).toBe('failed');
  });
});

describe('keys', () => {
  it.each([
    [0, 'ArrowDown', { kind: 'focus', index: 1 }],
    [3, 'ArrowDown', { kind: 'focus', index: 3 }],
    [0, 'ArrowUp', { kind: 'focus', index: 0 }],
    [1, 'End', { kind: 'focus', index: 3 }],
    [3, 'Home', { kind: 'focus', index: 0 }],
    [0, 'ArrowRight', { kind: 'focus', index: 1 }],
    [3, 'ArrowRight', { kind: 'toggle', name: 'optimizer' }],
    [1, 'ArrowRight', null],
    [0, 'ArrowLeft', { kind: 'toggle', name: 'forward' }],
    [2, 'ArrowLeft', { kind: 'focus', index: 0 }],
    [3, 'ArrowLeft', { kind: 'focus', index: 3 }],
    [2, 'Enter', { kind: 'select', name: 'forward/log' }],
    [2, ' ', { kind: 'select', name: 'forward/log' }],
    [2, 'x', null],
    [9, 'ArrowDown', null],
  ])('on row %d, %s does what the pattern says', (index, key, action) =>
    expect(treeKey(ROWS, index, key)).toEqual(action),
  );

  it('typed letters go to the next label that starts with them', () => {
    expect(typeAhead(ROWS, 0, 'l')).toBe(2);
    expect(typeAhead(ROWS, 2, 'F')).toBe(0);
    expect(typeAhead(ROWS, 1, 'ex')).toBe(1);
    expect(typeAhead(ROWS, 1, 'zz')).toBe(1);
  });
});
