// What follows the active session: providers, the status item, and the commands.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { activate } from '../src/extension';
import { InlineValues } from '../src/inline_values';
import { StatusItem } from '../src/status_item';
import { activate as makeActive, InlineValueText, Range, reset, state, Uri } from './vscode';

const OURS = { id: 'a', type: 'graphdbg' };
const PYTHON = { id: 'b', type: 'debugpy' };
const PROVIDERS = ['inline values', 'hover'];

const providers = () => state.registered.filter((kind) => PROVIDERS.includes(kind));

beforeEach(reset);

test('a Python debugger keeps its own hovers and inline values', () => {
  const context = { subscriptions: [] as { dispose(): void }[] };
  activate(context as never);
  assert.deepEqual(providers(), []);
  makeActive(OURS);
  assert.deepEqual(providers(), PROVIDERS);
  makeActive(PYTHON);
  assert.deepEqual(providers(), []);
  makeActive(OURS);
  for (const each of context.subscriptions) each.dispose();
  assert.deepEqual(state.registered, []);
  assert.equal(state.commands.size, 0);
});

test('the file of the editor\'s menu is debugged', async () => {
  activate({ subscriptions: [] } as never);
  await state.commands.get('graphdbg.debugFile')?.(Uri.file('/home/me/train.py') as never);
  assert.deepEqual(state.started, [
    { name: 'Training: current file', type: 'graphdbg', request: 'launch', program: '/home/me/train.py', breakOn: ['nan', 'inf'] },
  ]);
});

test('a graph is shown only for a session of graphdbg', async () => {
  activate({ subscriptions: [] } as never);
  makeActive(PYTHON);
  await state.commands.get('graphdbg.showGraph')?.();
  assert.equal(state.panels.length, 0);
  assert.match(state.notes.join(), /Start a graphdbg session/);
});

test('the status item follows the active session', () => {
  const status = new StatusItem();
  const item = state.items[0];
  const tracker = status.createDebugAdapterTracker(OURS as never);
  makeActive(OURS);
  assert.equal(item?.visible, true);
  assert.match(item?.text ?? '', /starting/);
  tracker.onDidSendMessage?.({ type: 'event', event: 'stopped', body: { reason: 'exception', description: 'NaN in log' } });
  assert.match(item?.text ?? '', /NaN in log/);
  tracker.onDidSendMessage?.({ type: 'response', command: 'threads' });
  assert.match(item?.text ?? '', /NaN in log/);
  tracker.onDidSendMessage?.({ type: 'event', event: 'continued' });
  assert.match(item?.text ?? '', /running/);
  makeActive(PYTHON);
  assert.equal(item?.visible, false);
  makeActive(OURS);
  tracker.onWillStopSession?.();
  assert.equal(item?.visible, false);
});

test('values are at the ends of the lines that the adapter names', async () => {
  const asked: unknown[] = [];
  const lines = [
    { line: 2, text: 'abs_max 3' },
    { line: 9, text: 'beyond the end of the file' },
  ];
  makeActive({ ...OURS, customRequest: async (...request: unknown[]) => (asked.push(request), { lines }) });
  const document = {
    uri: Uri.file('/home/me/train.py'),
    lineCount: 3,
    lineAt: (line: number) => ({ range: new Range(line, 0, line, 10) }),
  };
  const found = await new InlineValues().provideInlineValues(document as never, new Range(0, 0, 2, 0) as never, { frameId: 4 } as never);
  assert.deepEqual(found, [new InlineValueText(new Range(1, 0, 1, 10), 'abs_max 3')]);
  assert.deepEqual(asked, [
    ['graphdbg/lineValues', { source: { path: '/home/me/train.py' }, startLine: 1, endLine: 3, frameId: 4 }],
  ]);
});
