// VS Code's workbench in a page, with one Python file and the extension. The extension's code is
// the real one, except for the start of the adapter (socket_adapter.ts).

import { initialize } from '@codingame/monaco-vscode-api';
import { ExtensionHostKind, registerExtension } from '@codingame/monaco-vscode-api/extensions';
import getConfiguration, { initUserConfiguration } from '@codingame/monaco-vscode-configuration-service-override';
import getDebug from '@codingame/monaco-vscode-debug-service-override';
import getDialogs from '@codingame/monaco-vscode-dialogs-service-override';
import getEnvironment from '@codingame/monaco-vscode-environment-service-override';
import getExplorer from '@codingame/monaco-vscode-explorer-service-override';
import getExtensions from '@codingame/monaco-vscode-extensions-service-override';
import {
  RegisteredFileSystemProvider,
  RegisteredMemoryFile,
  registerFileSystemOverlay,
} from '@codingame/monaco-vscode-files-service-override';
import getKeybindings from '@codingame/monaco-vscode-keybindings-service-override';
import getLanguages from '@codingame/monaco-vscode-languages-service-override';
import getLifecycle from '@codingame/monaco-vscode-lifecycle-service-override';
import getMarkers from '@codingame/monaco-vscode-markers-service-override';
import getModel from '@codingame/monaco-vscode-model-service-override';
import getNotifications from '@codingame/monaco-vscode-notifications-service-override';
import getPreferences from '@codingame/monaco-vscode-preferences-service-override';
import '@codingame/monaco-vscode-python-default-extension';
import getQuickAccess from '@codingame/monaco-vscode-quickaccess-service-override';
import getStorage from '@codingame/monaco-vscode-storage-service-override';
import getTextmate from '@codingame/monaco-vscode-textmate-service-override';
import '@codingame/monaco-vscode-theme-defaults-default-extension';
import getTheme from '@codingame/monaco-vscode-theme-service-override';
import getStatusBar from '@codingame/monaco-vscode-view-status-bar-service-override';
import getTitleBar from '@codingame/monaco-vscode-view-title-bar-service-override';
import getWorkbench from '@codingame/monaco-vscode-workbench-service-override';
import * as vscode from 'vscode';
import manifest from '../../../tools/vscode/package.json';
import { activate } from '../../../tools/vscode/src/extension';

const WORKERS: Record<string, () => Worker> = {
  editorWorkerService: () =>
    new Worker(new URL('monaco-editor/esm/vs/editor/editor.worker.js', import.meta.url), { type: 'module' }),
  TextMateWorker: () =>
    new Worker(new URL('@codingame/monaco-vscode-textmate-service-override/worker', import.meta.url), { type: 'module' }),
};
Object.assign(window, { MonacoEnvironment: { getWorker: (_: string, label: string) => WORKERS[label]?.() } });

// The file has the path that it has on the machine, which the adapter reports.
const { path, text } = (await (await fetch('/file')).json()) as { path: string; text: string };
const file = vscode.Uri.file(path);
const files = new RegisteredFileSystemProvider(false);
files.registerFile(new RegisteredMemoryFile(file, text));
registerFileSystemOverlay(1, files);

await initUserConfiguration(JSON.stringify({ 'editor.minimap.enabled': false, 'workbench.colorTheme': 'Default Dark Modern' }));
await initialize(
  {
    ...getConfiguration(),
    ...getDebug(),
    ...getDialogs(),
    ...getEnvironment(),
    ...getExplorer(),
    ...getExtensions(),
    ...getKeybindings(),
    ...getLanguages(),
    ...getLifecycle(),
    ...getMarkers(),
    ...getModel(),
    ...getNotifications(),
    ...getPreferences(),
    ...getQuickAccess(),
    ...getStatusBar(),
    ...getStorage(),
    ...getTextmate(),
    ...getTheme(),
    ...getTitleBar(),
    ...getWorkbench(),
  },
  document.getElementById('workbench') as HTMLElement,
  {
    workspaceProvider: {
      trusted: true,
      open: async () => false,
      workspace: { folderUri: vscode.Uri.joinPath(file, '..') },
    },
  },
);
await registerExtension(manifest as never, ExtensionHostKind.LocalProcess).setAsDefaultApi();
activate({ subscriptions: [] } as never);
await vscode.window.showTextDocument(file);
document.body.dataset['state'] = 'ready';
