import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { AdapterFactory } from '../src/adapter';
import { findProgram } from '../src/program';
import { type DebugAdapterExecutable, reset, state, Uri } from './vscode';

let folder = '';
const path = process.env['PATH'];

function program(directory: string, mode = 0o755): string {
  const file = join(folder, directory, 'graphdbg');
  mkdirSync(join(folder, directory));
  writeFileSync(file, '#!/bin/sh\n');
  chmodSync(file, mode);
  return file;
}

beforeEach(() => {
  reset();
  folder = mkdtempSync(join(tmpdir(), 'graphdbg-vscode-'));
  process.env['PATH'] = join(folder, 'bin');
});

afterEach(() => {
  process.env['PATH'] = path;
  rmSync(folder, { recursive: true });
});

test('the setting comes first, then the interpreter, then PATH', async () => {
  const onPath = program('bin');
  assert.equal(await findProgram(), onPath);
  const beside = program('env');
  state.interpreter = join(folder, 'env', 'python');
  assert.equal(await findProgram(), beside);
  const set = program('set');
  state.settings['graphdbg.path'] = set;
  assert.equal(await findProgram(), set);
});

test('an interpreter without graphdbg does not hide the one on PATH', async () => {
  const onPath = program('bin');
  state.interpreter = join(folder, 'env', 'python');
  assert.equal(await findProgram(), onPath);
});

test('a setting that names no program is an error, not a reason to take another one', async () => {
  program('bin');
  state.settings['graphdbg.path'] = join(folder, 'none');
  await assert.rejects(findProgram(), /graphdbg\.path is ".*none"/);
});

test('a file that cannot be executed is no program', async () => {
  program('bin', 0o644);
  await assert.rejects(findProgram(), /no graphdbg on PATH/);
});

test('the adapter runs in the folder of the workspace', async () => {
  const file = program('bin');
  const session = { workspaceFolder: { uri: Uri.file('/home/me') } };
  const found = (await new AdapterFactory().createDebugAdapterDescriptor(session as never)) as unknown as DebugAdapterExecutable;
  assert.deepEqual([found.command, found.args, found.options], [file, ['dap'], { cwd: '/home/me' }]);
});

test('without a program, the user is told, and no adapter starts', async () => {
  assert.equal(await new AdapterFactory().createDebugAdapterDescriptor({} as never), undefined);
  assert.match(state.errors.join(), /Install it with pip/);
});
