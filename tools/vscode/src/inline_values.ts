// Statistics of what each line has computed, at the ends of the lines while the job is paused.

import * as vscode from 'vscode';
import { activeSession } from './active_session';

/** A line, from 1, and the text for its end. */
interface LineValue {
  line: number;
  text: string;
}

export class InlineValues implements vscode.InlineValuesProvider {
  async provideInlineValues(
    document: vscode.TextDocument,
    viewport: vscode.Range,
    { frameId }: vscode.InlineValueContext,
  ): Promise<vscode.InlineValue[]> {
    const session = activeSession();
    if (session === undefined) return [];
    const { lines } = (await session.customRequest('graphdbg/lineValues', {
      source: { path: document.uri.fsPath },
      startLine: viewport.start.line + 1,
      endLine: viewport.end.line + 1,
      frameId,
    })) as { lines: LineValue[] };
    return lines
      .filter(({ line }) => line >= 1 && line <= document.lineCount)
      .map(({ line, text }) => new vscode.InlineValueText(document.lineAt(line - 1).range, text));
  }
}
