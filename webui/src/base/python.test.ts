import { expect, it } from 'vitest';
import { pythonPieces } from './python';

const marked = (line: string) =>
  pythonPieces(line)
    .filter(({ kind }) => kind !== 'plain')
    .map(({ kind, text }) => `${kind} ${text}`);

it('lines of Python fall into pieces, and nothing is lost', () => {
  expect(marked("return -picked.mean() * 1e-3  # the 'loss'")).toEqual([
    'keyword return',
    'call mean',
    'number 1e-3',
    "comment # the 'loss'",
  ]);
  expect(marked(`if name == f"a'{x}" or y is None:`)).toEqual([
    'keyword if',
    `string f"a'{x}"`,
    'keyword or',
    'keyword is',
    'keyword None',
  ]);
  // A string that continues on the next line.
  expect(marked("print('unfinished")).toEqual(['call print', "string 'unfinished"]);
  for (const line of ['', '  x[0] @ y', 'päth = "日本" + r\'\\d\'', '<script>alert(1)</script>']) {
    expect(pythonPieces(line).map(({ text }) => text).join('')).toBe(line);
  }
});
