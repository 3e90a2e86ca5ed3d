// Where the program `graphdbg` is.

import { access, constants } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { selectedInterpreter } from './python';

const NAME = process.platform === 'win32' ? 'graphdbg.exe' : 'graphdbg';
const OPEN_SETTING = 'Open Setting';

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function firstExecutable(directories: readonly string[]): Promise<string | undefined> {
  for (const directory of directories) {
    const file = join(directory, NAME);
    if (directory !== '' && (await isExecutable(file))) return file;
  }
  return undefined;
}

/**
 * Path of the program: that of the setting, or else the one in the environment of the selected
 * interpreter, or else the first on PATH. Throws an Error with advice if there is none.
 */
export async function findProgram(resource?: vscode.Uri): Promise<string> {
  const setting = vscode.workspace.getConfiguration('graphdbg').get<string>('path', '').trim();
  if (setting !== '') {
    if (await isExecutable(setting)) return setting;
    throw new Error(`graphdbg.path is "${setting}", which is not an executable file.`);
  }
  const interpreter = await selectedInterpreter(resource);
  const beside = interpreter === undefined ? [] : [dirname(interpreter)];
  const found = await firstExecutable([...beside, ...(process.env['PATH'] ?? '').split(delimiter)]);
  if (found !== undefined) return found;
  const where = interpreter === undefined ? 'on PATH' : `next to ${interpreter} or on PATH`;
  throw new Error(`There is no graphdbg ${where}. Install it with pip into the environment of the job, or set graphdbg.path.`);
}

/** The same, but shows the error to the user and returns undefined. */
export async function findProgramOrTell(resource?: vscode.Uri): Promise<string | undefined> {
  try {
    return await findProgram(resource);
  } catch (error) {
    void vscode.window.showErrorMessage((error as Error).message, OPEN_SETTING).then((choice) => {
      if (choice === OPEN_SETTING) void vscode.commands.executeCommand('workbench.action.openSettings', 'graphdbg.path');
    });
    return undefined;
  }
}
