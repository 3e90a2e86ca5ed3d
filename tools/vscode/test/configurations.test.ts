import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type * as vscode from 'vscode';
import { ConfigurationProvider } from '../src/configurations';
import { reset, state, Uri, window } from './vscode';

const NOTHING = {} as vscode.DebugConfiguration;
const FOLDER = { uri: Uri.file('/home/me') } as unknown as vscode.WorkspaceFolder;

const resolve = (configuration: vscode.DebugConfiguration, folder?: vscode.WorkspaceFolder) =>
  new ConfigurationProvider().resolveDebugConfiguration(folder, configuration);

const launch = (rest: object) => ({ name: 'n', type: 'graphdbg', request: 'launch', ...rest });

beforeEach(reset);

test('F5 without launch.json debugs the Python file of the editor', async () => {
  window.activeTextEditor = { document: { languageId: 'python' } };
  const found = await resolve(NOTHING, FOLDER);
  assert.equal(found?.['program'], '${file}');
  assert.deepEqual(found?.['breakOn'], ['nan', 'inf']);
  assert.equal(found?.['cwd'], '/home/me');
});

test('F5 in another file starts nothing and says what to do', async () => {
  window.activeTextEditor = { document: { languageId: 'markdown' } };
  assert.equal(await resolve(NOTHING), undefined);
  assert.match(state.errors.join(), /Python file.*launch\.json/);
});

test('the interpreter of the Python extension runs the program', async () => {
  state.interpreter = '/env/bin/python';
  assert.equal((await resolve(launch({ program: 'a.py' })))?.['python'], '/env/bin/python');
  assert.equal((await resolve(launch({ program: 'a.py', python: 'mine' })))?.['python'], 'mine');
  assert.equal((await resolve(launch({ command: ['torchrun'] })))?.['python'], undefined);
});

test('a configuration is completed, and nothing in it is changed', async () => {
  const given = launch({ module: 'train', cwd: '/elsewhere' });
  assert.deepEqual(await resolve(given, FOLDER), given);
  assert.equal((await resolve(launch({})))?.['program'], '${file}');
});

test('a configuration with two programs is refused', async () => {
  assert.equal(await resolve(launch({ program: 'a.py', command: ['b'] })), undefined);
  assert.match(state.errors.join(), /program and command/);
});

test('an attach configuration is passed on as it is', async () => {
  const given = { name: 'n', type: 'graphdbg', request: 'attach', processId: 12 };
  assert.deepEqual(await resolve(given, FOLDER), given);
});
