// "Show Graph": the page of a session's job beside the code. A click on a node opens its source.

import { randomBytes } from 'node:crypto';
import { isAbsolute, resolve } from 'node:path';
import * as vscode from 'vscode';
import { TYPE } from './active_session';
import { graphDocument, reachableAddress } from './graph_page';

/** What the page posts when a node is selected. */
interface Selection {
  node: string;
  source: { file: string; line: number } | null;
}

export class GraphPanels implements vscode.Disposable {
  // By the session's id.
  private readonly panels = new Map<string, vscode.WebviewPanel>();

  /** Shows the graph of a session, in the panel that it has or in a new one. */
  async show(session: vscode.DebugSession | undefined): Promise<void> {
    if (session?.type !== TYPE) {
      void vscode.window.showInformationMessage('Start a graphdbg session to show its graph.');
      return;
    }
    const known = this.panels.get(session.id);
    if (known !== undefined) {
      known.reveal();
      return;
    }
    try {
      this.open(session, await pageOf(session));
    } catch (error) {
      void vscode.window.showErrorMessage(`The graph cannot be shown: ${(error as Error).message}`);
    }
  }

  dispose(): void {
    for (const panel of this.panels.values()) panel.dispose();
  }

  private open(session: vscode.DebugSession, address: string): void {
    const panel = vscode.window.createWebviewPanel(
      'graphdbg.graph',
      `Graph: ${session.name}`,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      // The page's one-time code cannot be used again, so the page must not be loaded again.
      { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [] },
    );
    this.panels.set(session.id, panel);
    panel.onDidDispose(() => this.panels.delete(session.id));
    panel.webview.onDidReceiveMessage((message: unknown) => {
      if (isSelection(message)) void openSource(session, message);
    });
    panel.webview.html = graphDocument(address, randomBytes(16).toString('hex'));
  }
}

async function pageOf(session: vscode.DebugSession): Promise<string> {
  const { url } = (await session.customRequest('graphdbg/pageAddress', { embed: true })) as { url: string };
  const external = await vscode.env.asExternalUri(vscode.Uri.parse(new URL(url).origin));
  return reachableAddress(url, external.toString(true));
}

function isSelection(message: unknown): message is Selection {
  if (typeof message !== 'object' || message === null) return false;
  const { node, source } = message as Partial<Selection>;
  if (typeof node !== 'string') return false;
  return source === null || (typeof source?.file === 'string' && Number.isInteger(source.line));
}

async function openSource(session: vscode.DebugSession, { source }: Selection): Promise<void> {
  if (source === null) return;
  const cwd = (session.configuration['cwd'] as string | undefined) ?? session.workspaceFolder?.uri.fsPath ?? '/';
  const file = isAbsolute(source.file) ? source.file : resolve(cwd, source.file);
  const line = Math.max(0, source.line - 1);
  try {
    await vscode.window.showTextDocument(vscode.Uri.file(file), {
      viewColumn: vscode.ViewColumn.One,
      preserveFocus: true,
      preview: true,
      selection: new vscode.Range(line, 0, line, 0),
    });
  } catch {
    vscode.window.setStatusBarMessage(`graphdbg: ${file} is not on this machine`, 5000);
  }
}
