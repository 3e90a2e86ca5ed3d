// The debug session that the user looks at.

import * as vscode from 'vscode';

export const TYPE = 'graphdbg';

/** The active session, if it is one of graphdbg. */
export function activeSession(): vscode.DebugSession | undefined {
  const session = vscode.debug.activeDebugSession;
  return session?.type === TYPE ? session : undefined;
}

/**
 * Registers providers only while a session of graphdbg is active. Where a language has a provider
 * of inline values or hovers, VS Code asks no other source, so ours would take them away from the
 * Python debugger.
 */
export function whileActive(register: () => vscode.Disposable[]): vscode.Disposable {
  let registered: vscode.Disposable[] = [];
  const unregister = () => {
    for (const each of registered) each.dispose();
    registered = [];
  };
  const update = () => {
    if (activeSession() === undefined) unregister();
    else if (registered.length === 0) registered = register();
  };
  const listener = vscode.debug.onDidChangeActiveDebugSession(update);
  update();
  return new vscode.Disposable(() => {
    listener.dispose();
    unregister();
  });
}
