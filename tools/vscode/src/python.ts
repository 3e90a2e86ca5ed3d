// The interpreter that the user has selected in the Python extension.

import * as vscode from 'vscode';

// The part of the Python extension's interface that is used here.
interface Environments {
  getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
  resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
}

/** Path of the selected interpreter, or undefined without the Python extension or a selection. */
export async function selectedInterpreter(resource?: vscode.Uri): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<{ environments?: Environments }>('ms-python.python');
  const environments = (await extension?.activate())?.environments;
  if (environments === undefined) return undefined;
  const environment = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(resource));
  return environment?.executable.uri?.fsPath;
}
