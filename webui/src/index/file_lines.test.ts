import { describe, expect, it } from 'vitest';
import { sampleIndex } from '../testing/sample_index';
import { fileRows } from './file_lines';

const index = sampleIndex([
  { name: 'a', source: ['/src/net.py', 4] },
  { name: 'b', source: ['/src/net.py', 4] },
  { name: 'c', source: ['/src/net.py', 7] },
  { name: 'd', source: ['/src/other.py', 5] },
]);

describe('fileRows', () => {
  it('counts ops and hits by line, and shows what is not known as gaps', () => {
    const texts = new Map([[4, 'x = f(x)'], [5, 'return g(x)']]);
    expect(fileRows(index, '/src/net.py', texts, new Map([['a', 2], ['b', 1], ['d', 9]]), 4)).toEqual([
      { from: 1, to: 3 },
      { line: 4, text: 'x = f(x)', ops: 2, hits: 3 },
      { line: 5, text: 'return g(x)', ops: 0, hits: 0 },
      { from: 6, to: 6 },
      { line: 7, text: '', ops: 1, hits: 0 },
    ]);
  });

  it('leaves out lines that are far away', () => {
    const texts = new Map(Array.from({ length: 5000 }, (_, i) => [i + 1, 'x']));
    const rows = fileRows(index, '/src/net.py', texts, new Map(), 3000);
    expect(rows[0]).toEqual({ from: 1, to: 1499 });
    expect(rows[1]).toMatchObject({ line: 1500 });
    expect(rows.at(-1)).toMatchObject({ line: 4500 });
  });

  it('has nothing for a file without ops', () => {
    expect(fileRows(index, '/src/unknown.py', new Map(), new Map(), 1)).toEqual([]);
  });
});
