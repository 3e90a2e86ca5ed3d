// Reads tracebacks of Python.

export interface TracebackFrame {
  file: string;
  line: number;
  function: string;
  // The line's code; empty if the traceback has none.
  code: string;
  // Not of the user's program.
  library: boolean;
}

// A frame, or text between frames: headings, messages, and how exceptions are chained.
export type TracebackPart = { kind: 'frame'; frame: TracebackFrame } | { kind: 'text'; text: string };

const FRAME = /^\s*(?:\| ?)?\s*File "([^"]+)", line (\d+)(?:, in (.*))?$/;
const MARKERS = /^[\s|]*[\^~]+[\s^~]*$/;
const HEADING = /^\s*(Original )?Traceback \(most recent call last\):$/;
const LIBRARY = /[\\/](site-packages|dist-packages|lib[\\/]python\d[.\d]*)[\\/]|^<(frozen|string)/;

const indentOf = (line: string) => line.length - line.trimStart().length;

export function partsOfTraceback(text: string): TracebackPart[] {
  const parts: TracebackPart[] = [];
  // The indentation of the last frame, whose code is indented further.
  let within = -1;
  for (const line of text.split('\n')) {
    const found = FRAME.exec(line);
    const last = parts.at(-1);
    if (found !== null) {
      const [, file = '', number = '0', name = ''] = found;
      const frame = { file, line: Number(number), function: name, code: '', library: LIBRARY.test(file) };
      parts.push({ kind: 'frame', frame });
      within = indentOf(line);
    } else if (MARKERS.test(line) || line.trim() === '') {
      continue;
    } else if (last?.kind === 'frame' && indentOf(line) > within) {
      // Later lines of a statement are left out.
      last.frame.code ||= line.trim();
    } else if (!HEADING.test(line)) {
      parts.push({ kind: 'text', text: line.trim() });
    }
  }
  return parts;
}
