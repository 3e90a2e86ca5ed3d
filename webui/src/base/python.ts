// Splits a line of Python for syntax highlighting. It sees one line only, so a string that
// began on an earlier line is not recognized.

export type PythonKind = 'keyword' | 'string' | 'number' | 'comment' | 'call' | 'plain';

export interface PythonPiece {
  kind: PythonKind;
  text: string;
}

const KEYWORDS = new Set(
  ('and as assert async await break class continue def del elif else except False finally for from global ' +
    'if import in is lambda None nonlocal not or pass raise return self True try while with yield').split(' '),
);

const PIECES =
  /(?<string>[rbfuRBFU]{0,2}(?:'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?))|(?<comment>#.*)|(?<number>\b\d[\w.]*(?:(?<=[eE])[+-]\d+)?)|(?<word>[A-Za-z_]\w*)|(?<rest>[^\w'"#]+|.)/gu;

export function pythonPieces(line: string): PythonPiece[] {
  const pieces: PythonPiece[] = [];
  for (const match of line.matchAll(PIECES)) {
    const { string, comment, number, word } = match.groups ?? {};
    const text = match[0];
    let kind: PythonKind = 'plain';
    if (string !== undefined) kind = 'string';
    else if (comment !== undefined) kind = 'comment';
    else if (number !== undefined) kind = 'number';
    else if (word !== undefined && KEYWORDS.has(word)) kind = 'keyword';
    else if (word !== undefined && line[match.index + text.length] === '(') kind = 'call';
    pieces.push({ kind, text });
  }
  return pieces;
}
