// An item in the status bar with the state of the active job.

import * as vscode from 'vscode';
import { activeSession } from './active_session';

/** The part of a message of the Debug Adapter Protocol that is used here. */
interface Message {
  type: string;
  event?: string;
  body?: { reason?: string; description?: string; text?: string };
}

/** The item's text after an event of the adapter; undefined if the event changes nothing. */
export function textAfter(message: Message): string | undefined {
  if (message.type !== 'event') return undefined;
  switch (message.event) {
    case 'stopped':
      return `$(debug-pause) graphdbg: ${message.body?.description ?? `paused (${message.body?.reason})`}`;
    case 'continued':
    case 'process':
      return '$(debug-start) graphdbg: running';
    default:
      return undefined;
  }
}

export class StatusItem implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left);
  private readonly texts = new Map<string, string>();
  private readonly listener = vscode.debug.onDidChangeActiveDebugSession(() => this.update());

  constructor() {
    this.item.name = 'graphdbg';
    this.item.command = 'graphdbg.showGraph';
    this.item.tooltip = 'Show the graph of this job';
  }

  createDebugAdapterTracker({ id }: vscode.DebugSession): vscode.DebugAdapterTracker {
    this.texts.set(id, '$(loading~spin) graphdbg: starting');
    return {
      onDidSendMessage: (message: Message) => {
        const text = textAfter(message);
        if (text === undefined) return;
        this.texts.set(id, text);
        this.update();
      },
      onWillStopSession: () => {
        this.texts.delete(id);
        this.update();
      },
    };
  }

  dispose(): void {
    this.listener.dispose();
    this.item.dispose();
  }

  private update(): void {
    const text = this.texts.get(activeSession()?.id ?? '');
    if (text === undefined) {
      this.item.hide();
      return;
    }
    this.item.text = text;
    this.item.show();
  }
}
