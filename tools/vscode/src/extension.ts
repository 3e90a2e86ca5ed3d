// The extension: connects VS Code's debugger to `graphdbg dap`, and shows the graph beside the code.

import * as vscode from 'vscode';
import { TYPE, whileActive } from './active_session';
import { AdapterFactory } from './adapter';
import { ConfigurationProvider, currentFileConfiguration } from './configurations';
import { GraphPanels } from './graph_panels';
import { HoverProvider } from './hover';
import { InlineValues } from './inline_values';
import { pickJob } from './pick_job';
import { StatusItem } from './status_item';

const PYTHON = { language: 'python' };

export function activate(context: vscode.ExtensionContext): void {
  const configurations = new ConfigurationProvider();
  const panels = new GraphPanels();
  const status = new StatusItem();
  context.subscriptions.push(
    panels,
    status,
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new AdapterFactory()),
    vscode.debug.registerDebugAdapterTrackerFactory(TYPE, status),
    vscode.debug.registerDebugConfigurationProvider(TYPE, configurations),
    vscode.debug.registerDebugConfigurationProvider(TYPE, configurations, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.commands.registerCommand('graphdbg.showGraph', () => panels.show(vscode.debug.activeDebugSession)),
    vscode.commands.registerCommand('graphdbg.pickJob', pickJob),
    vscode.commands.registerCommand('graphdbg.debugFile', (file?: vscode.Uri) => debugFile(file)),
    whileActive(() => [
      vscode.languages.registerInlineValuesProvider(PYTHON, new InlineValues()),
      vscode.languages.registerEvaluatableExpressionProvider(PYTHON, new HoverProvider()),
    ]),
  );
}

async function debugFile(file: vscode.Uri | undefined): Promise<void> {
  const chosen = file ?? vscode.window.activeTextEditor?.document.uri;
  if (chosen === undefined) return;
  const configuration = { ...currentFileConfiguration(), program: chosen.fsPath };
  await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(chosen), configuration);
}
