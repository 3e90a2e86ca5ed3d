// Launch configurations: defaults, and what is debugged without launch.json.

import * as vscode from 'vscode';
import { TYPE } from './active_session';
import { selectedInterpreter } from './python';

const SUBJECTS = ['program', 'module', 'command'] as const;

export function currentFileConfiguration(): vscode.DebugConfiguration {
  return { name: 'Training: current file', type: TYPE, request: 'launch', program: '${file}', breakOn: ['nan', 'inf'] };
}

export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    return [currentFileConfiguration()];
  }

  async resolveDebugConfiguration(
    folder: vscode.WorkspaceFolder | undefined,
    given: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | null | undefined> {
    const configuration = isEmpty(given) ? configurationOfEditor() : given;
    if (configuration === undefined) return refuse('Open the Python file to debug, or add a configuration to launch.json.');
    return configuration.request === 'launch' ? completeLaunch(folder, configuration) : configuration;
  }
}

// F5 in a folder without launch.json.
function isEmpty(configuration: vscode.DebugConfiguration): boolean {
  return !configuration.type && !configuration.request && !configuration.name;
}

function configurationOfEditor(): vscode.DebugConfiguration | undefined {
  return vscode.window.activeTextEditor?.document.languageId === 'python' ? currentFileConfiguration() : undefined;
}

async function completeLaunch(
  folder: vscode.WorkspaceFolder | undefined,
  given: vscode.DebugConfiguration,
): Promise<vscode.DebugConfiguration | undefined> {
  const subjects = SUBJECTS.filter((key) => given[key] !== undefined);
  if (subjects.length > 1) return refuse(`The configuration "${given.name}" has ${subjects.join(' and ')}; give one of them.`);
  const configuration: vscode.DebugConfiguration = subjects.length === 0 ? { ...given, program: '${file}' } : { ...given };
  if (folder !== undefined) configuration['cwd'] ??= folder.uri.fsPath;
  if (configuration['command'] === undefined) {
    const interpreter = configuration['python'] ?? (await selectedInterpreter(folder?.uri));
    if (interpreter !== undefined) configuration['python'] = interpreter;
  }
  return configuration;
}

// VS Code starts nothing for an undefined configuration.
function refuse(message: string): undefined {
  void vscode.window.showErrorMessage(message);
  return undefined;
}
