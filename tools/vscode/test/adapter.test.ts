// The extension with the real adapter, server and PyTorch job: what the user sees at the first stop.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type * as vscode from 'vscode';
import { AdapterFactory } from '../src/adapter';
import { ConfigurationProvider, currentFileConfiguration } from '../src/configurations';
import { GraphPanels } from '../src/graph_panels';
import { hoveredPath } from '../src/hover';
import { InlineValues } from '../src/inline_values';
import { AdapterSession } from './adapter_client';
import { activate, type DebugAdapterExecutable, type InlineValueText, Range, reset, state, Uri } from './vscode';

// `npm test` runs in tools/vscode.
const ROOT = join(process.cwd(), '../..');
const SCRIPT = join(ROOT, 'tests/hosts/digits_cnn.py');
const LINES = readFileSync(SCRIPT, 'utf8').split('\n');
const BIN = join(ROOT, '.venv/bin');

let session: AdapterSession;
let stopped: Record<string, unknown>;
let frames: { id: number; name: string; line: number; source?: { path: string } }[];

before(async () => {
  reset();
  state.settings['graphdbg.path'] = process.env['GRAPHDBG_PROGRAM'] ?? join(BIN, 'graphdbg');
  state.interpreter = process.env['GRAPHDBG_PYTHON'] ?? join(BIN, 'python');
  const given = { ...currentFileConfiguration(), program: SCRIPT };
  const configuration = await new ConfigurationProvider().resolveDebugConfiguration(undefined, given);
  const adapter = await new AdapterFactory().createDebugAdapterDescriptor({} as never);
  session = new AdapterSession(adapter as unknown as DebugAdapterExecutable, configuration as vscode.DebugConfiguration);
  activate(session);
  stopped = await session.start();
  const trace = await session.customRequest('stackTrace', { threadId: stopped['threadId'] });
  frames = trace['stackFrames'] as typeof frames;
});

after(async () => {
  await session.close();
});

const lineOf = (code: string): number => LINES.findIndex((line) => line.includes(code)) + 1;

test('the current file is trained until its first infinity', () => {
  assert.equal(stopped['reason'], 'exception');
  assert.equal(frames[0]?.source?.path, SCRIPT);
  assert.equal(frames[0]?.line, lineOf('log('));
});

test('lines end with the statistics of what they have computed', async () => {
  const document = {
    uri: Uri.file(SCRIPT),
    lineCount: LINES.length,
    lineAt: (line: number) => ({ range: new Range(line, 0, line, LINES[line]?.length ?? 0) }),
  };
  const viewport = new Range(0, 0, LINES.length - 1, 0);
  const context = { frameId: frames[0]?.id };
  const provider = new InlineValues();
  const values = (await provider.provideInlineValues(document as never, viewport as never, context as never)) as unknown as InlineValueText[];
  const texts = new Map(values.map(({ range, text }) => [range.start.line + 1, text]));
  assert.match(texts.get(lineOf('log(')) ?? '', /^log: min .*, 1 Inf$/);
  assert.match(texts.get(lineOf('softmax(')) ?? '', /^_softmax: min 0, max 1,/);
});

test('a hover on a module\'s attribute is an expression that the adapter knows', async () => {
  const line = LINES.find((each) => /self\.\w+\(/.test(each)) ?? '';
  const name = /self\.(\w+)\(/.exec(line)?.[1] ?? '';
  assert.equal(hoveredPath(line, line.indexOf(name))?.expression, name);
  const weight = hoveredPath(`self.${name}.weight`, `self.${name}.weight`.length - 1);
  const value = await session.customRequest('evaluate', { expression: weight?.expression, frameId: frames[0]?.id, context: 'hover' });
  assert.match(String(value['type']), /float32/);
});

test('the page opens in the webview, which alone may embed it', async () => {
  await new GraphPanels().show(session as never);
  assert.deepEqual(state.errors, []);
  const address = /<iframe[^>]* src="([^"]*)"/.exec(state.panels[0]?.webview.html ?? '')?.[1]?.replaceAll('&amp;', '&') ?? '';
  const page = await fetch(address);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors [^;]*vscode-webview:/);
  const plain = await fetch(new URL(address).origin);
  assert.match(plain.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
});
