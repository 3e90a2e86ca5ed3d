// What the mouse is on in Python code, as an expression of the debugger. The adapter knows the graph;
// which line has assigned a variable is found here.

import * as vscode from 'vscode';
import { activeSession } from './active_session';

// Attributes and constant indices, such as self.layers[0].fc.weight.
const PATH = /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*/g;
const PART = /[A-Za-z_]\w*|\d+/g;
const FUNCTION = /^\s*(?:async\s+)?def\s/;

/** A name in a line of code, with the columns that it takes. */
export interface Hovered {
  /** The names up to the one under the mouse. */
  parts: string[];
  start: number;
  end: number;
}

export function hoveredName(line: string, column: number): Hovered | undefined {
  for (const match of line.matchAll(PATH)) {
    const start = match.index;
    if (column < start || column >= start + match[0].length) continue;
    const parts = [...match[0].matchAll(PART)].filter((part) => start + part.index <= column);
    const last = parts.at(-1);
    if (last === undefined) return undefined;
    return { parts: parts.map((part) => part[0]), start, end: start + last.index + last[0].length };
  }
  return undefined;
}

/**
 * The number, from 0, of the line in the same function that has assigned a variable before its use in
 * a line, or that assigns it there; undefined if there is none. `code` returns a line.
 */
export function assignmentOf(name: string, column: number, use: number, code: (line: number) => string): number | undefined {
  const assignment = new RegExp(`^\\s*${name}\\s*(?::[^=]+)?=(?!=)`);
  const assignsHere = assignment.test(code(use)) && code(use).slice(0, column).trim() === '';
  for (let line = assignsHere ? use : use - 1; line >= 0; line -= 1) {
    if (assignment.test(code(line))) return line;
    if (FUNCTION.test(code(line))) return undefined;
  }
  return undefined;
}

export class HoverProvider implements vscode.EvaluatableExpressionProvider {
  async provideEvaluatableExpression(
    document: vscode.TextDocument,
    position: vscode.Position,
  ): Promise<vscode.EvaluatableExpression | undefined> {
    const session = activeSession();
    const frame = vscode.debug.activeStackItem;
    const found = hoveredName(document.lineAt(position.line).text, position.character);
    if (session === undefined || found === undefined || !(frame instanceof vscode.DebugStackFrame)) return undefined;
    const place = placeOf(document, position.line, found);
    if (place === undefined) return undefined;
    const { expression } = (await session.customRequest('graphdbg/expressionAt', { frameId: frame.frameId, ...place })) as {
      expression?: string;
    };
    if (expression === undefined) return undefined;
    return new vscode.EvaluatableExpression(new vscode.Range(position.line, found.start, position.line, found.end), expression);
  }
}

/** What the adapter looks up: the line of a variable, or the path of an attribute of a module. */
function placeOf(document: vscode.TextDocument, line: number, { parts, start }: Hovered): object | undefined {
  const [first = '', ...rest] = parts;
  if (first === 'self') return rest.length === 0 ? undefined : { path: rest.join('/') };
  if (rest.length > 0) return undefined;
  const assigned = assignmentOf(first, start, line, (number) => document.lineAt(number).text);
  return assigned === undefined ? undefined : { source: { path: document.uri.fsPath }, line: assigned + 1 };
}
