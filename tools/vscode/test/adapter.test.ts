// The extension with the real adapter, server and PyTorch job: what the user sees at the first stop.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type * as vscode from 'vscode';
import { AdapterFactory } from '../src/adapter';
import { ConfigurationProvider, currentFileConfiguration } from '../src/configurations';
import { GraphPanels } from '../src/graph_panels';
import { HoverProvider } from '../src/hover';
import { InlineValues } from '../src/inline_values';
import { AdapterSession } from './adapter_client';
import { activate, debug, type DebugAdapterExecutable, DebugStackFrame, type InlineValueText, Range, reset, state, Uri } from './vscode';

// `npm test` runs in tools/vscode.
const ROOT = join(process.cwd(), '../..');
const SCRIPT = join(ROOT, 'tests/hosts/digits_cnn.py');
const LINES = readFileSync(SCRIPT, 'utf8').split('\n');
const BIN = join(ROOT, '.venv/bin');
const DOCUMENT = {
  uri: Uri.file(SCRIPT),
  lineCount: LINES.length,
  lineAt: (line: number) => ({ text: LINES[line], range: new Range(line, 0, line, LINES[line]?.length ?? 0) }),
};

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
  const viewport = new Range(0, 0, LINES.length - 1, 0);
  const context = { frameId: frames[0]?.id };
  const provider = new InlineValues();
  const values = (await provider.provideInlineValues(DOCUMENT as never, viewport as never, context as never)) as unknown as InlineValueText[];
  const texts = new Map(values.map(({ range, text }) => [range.start.line + 1, text]));
  assert.match(texts.get(lineOf('log(')) ?? '', /^log: min .*, \d+ Inf$/);
  assert.match(texts.get(lineOf('softmax(')) ?? '', /^_softmax: min 0, max 1,/);
});

// The value that a hover shows for a name in the line that contains `code`.
async function hover(code: string, name: string): Promise<string> {
  const line = lineOf(code) - 1;
  const position = { line, character: LINES[line]?.lastIndexOf(name) };
  const found = await new HoverProvider().provideEvaluatableExpression(DOCUMENT as never, position as never);
  const request = { expression: found?.expression, frameId: frames[0]?.id, context: 'hover' };
  return String((await session.customRequest('evaluate', request))['result']);
}

test('a hover shows what a variable, a module and a parameter have as their values', async () => {
  debug.activeStackItem = new DebugStackFrame(frames[0]?.id ?? 0);
  assert.match(await hover('torch.log(', 'probabilities'), /^float32\[64, 10\]: min 0, max 1,/);
  assert.match(await hover('self.fc1(', 'fc1'), /^float32\[64, 64\]:/);
  // The maximum depends on the processor, whose kernels round in their own ways.
  assert.match(await hover('self.fc1(', 'x'), /^float32\[64, 32, 4, 4\]: min 0, max \d/);
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
