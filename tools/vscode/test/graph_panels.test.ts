import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type * as vscode from 'vscode';
import { graphDocument } from '../src/graph_page';
import { GraphPanels } from '../src/graph_panels';
import { reset, state, type WebviewPanel } from './vscode';

const ADDRESS = 'http://127.0.0.1:8080/?embed=1#/jobs/a?node=forward/log%26x&code=c1';

function session(answer: () => unknown = () => ({ url: ADDRESS })): vscode.DebugSession & { asked: unknown[] } {
  const asked: unknown[] = [];
  const customRequest = async (command: string, body: unknown) => {
    asked.push([command, body]);
    return answer();
  };
  return { id: 's', type: 'graphdbg', name: 'train', configuration: { cwd: '/home/me' }, customRequest, asked } as never;
}

const only = <T>(list: T[]): T => {
  assert.equal(list.length, 1);
  return list[0] as T;
};

async function shown(): Promise<WebviewPanel> {
  await new GraphPanels().show(session());
  return only(state.panels);
}

beforeEach(reset);

test('the page is framed with its one-time code unchanged', async () => {
  const panel = await shown();
  assert.match(panel.webview.html, /<iframe[^>]*src="http:\/\/127\.0\.0\.1:8080\/\?embed=1#\/jobs\/a\?node=forward\/log%26x&amp;code=c1"/);
  assert.match(panel.webview.html, /frame-src http:\/\/127\.0\.0\.1:8080;/);
});

test('in a remote workspace the page is reached through the tunnel', async () => {
  state.tunnels['http://127.0.0.1:8080'] = 'http://localhost:8080/';
  const panel = await shown();
  assert.match(panel.webview.html, /src="http:\/\/localhost:8080\/\?embed=1#\/jobs/);
});

test('each session has one panel, and a code is asked for once', async () => {
  const panels = new GraphPanels();
  const job = session();
  await panels.show(job);
  await panels.show(job);
  assert.equal(only(state.panels).revealed, 1);
  assert.deepEqual(job.asked, [['graphdbg/pageAddress', { embed: true }]]);
  only(state.panels).dispose();
  await panels.show(job);
  assert.equal(job.asked.length, 2);
});

test('a click on a node opens its source', async () => {
  const panel = await shown();
  panel.webview.post({ node: 'forward/log', source: { file: '/home/me/train.py', line: 31 } });
  panel.webview.post({ node: 'forward/log', source: { file: 'model.py', line: 7 } });
  panel.webview.post({ node: 'forward', source: null });
  assert.deepEqual(state.shown, ['/home/me/train.py:31', '/home/me/model.py:7']);
});

test('what is not a selection is ignored', async () => {
  const panel = await shown();
  for (const message of [null, 'x', {}, { node: 1, source: null }, { node: 'a', source: { file: 1, line: 2 } }, { node: 'a' }]) {
    panel.webview.post(message);
  }
  assert.deepEqual(state.shown, []);
});

test('an adapter that has no page says why', async () => {
  await new GraphPanels().show(session(() => {
    throw new Error('not attached to a job yet');
  }));
  assert.equal(state.panels.length, 0);
  assert.match(only(state.errors), /not attached to a job yet/);
});

test('an address cannot leave its attribute', () => {
  const text = graphDocument('http://h:1/?a="><script>#/x', 'n');
  assert.equal(text.match(/<script/g)?.length, 1);
});
