// Starts the debug adapter, `graphdbg dap`, for each session.

import * as vscode from 'vscode';
import { findProgramOrTell } from './program';

export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor | undefined> {
    const folder = session.workspaceFolder?.uri;
    const program = await findProgramOrTell(folder);
    // VS Code ends the session.
    if (program === undefined) return undefined;
    return new vscode.DebugAdapterExecutable(program, ['dap'], folder === undefined ? {} : { cwd: folder.fsPath });
  }
}
