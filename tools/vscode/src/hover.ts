// The expression for the debugger when the mouse is on a name in Python code.

import * as vscode from 'vscode';
import { activeSession } from './active_session';

// Attributes and constant indices, such as self.layers[0].fc.weight.
const PATH = /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*/g;
const PART = /[A-Za-z_]\w*|\d+/g;

/** An expression of the debugger, and the columns of the Python code that it stands for. */
export interface Hovered {
  expression: string;
  start: number;
  end: number;
}

/**
 * The path up to the name at a column. Modules and parameters have the names of the attributes that
 * hold them: `self.fc.weight` is `fc/weight` in the scope of its module.
 */
export function hoveredPath(line: string, column: number): Hovered | undefined {
  for (const match of line.matchAll(PATH)) {
    const start = match.index;
    if (column < start || column >= start + match[0].length) continue;
    const parts = [...match[0].matchAll(PART)].filter((part) => start + part.index <= column);
    const last = parts.at(-1);
    if (last === undefined) return undefined;
    const names = parts.map((part) => part[0]);
    if (names[0] === 'self') names.shift();
    if (names.length === 0) return undefined;
    return { expression: names.join('/'), start, end: start + last.index + last[0].length };
  }
  return undefined;
}

export class HoverProvider implements vscode.EvaluatableExpressionProvider {
  provideEvaluatableExpression(
    document: vscode.TextDocument,
    position: vscode.Position,
  ): vscode.EvaluatableExpression | undefined {
    if (activeSession() === undefined) return undefined;
    const found = hoveredPath(document.lineAt(position.line).text, position.character);
    if (found === undefined) return undefined;
    const range = new vscode.Range(position.line, found.start, position.line, found.end);
    return new vscode.EvaluatableExpression(range, found.expression);
  }
}
