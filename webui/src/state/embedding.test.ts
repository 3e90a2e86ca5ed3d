import { beforeEach, expect, it, vi } from 'vitest';
import { sampleIndex } from '../testing/sample_index';
import { reportSelections } from './embedding';
import { jobRoute } from './route';
import { navigate, patchRoute } from './router';
import { NO_GRAPH, useScopes } from './scopes';

const index = sampleIndex([{ name: 'forward/fc/addmm', source: ['/home/me/train.py', 31] }, { name: 'forward/log' }]);

const hasFocus = vi.spyOn(document, 'hasFocus');

beforeEach(() => {
  hasFocus.mockReturnValue(true);
  useScopes.setState({ ...NO_GRAPH, job: 'j', graph: null, index });
  navigate({ view: 'job', route: jobRoute('j') });
});

function embedder() {
  const posted: unknown[] = [];
  const window = { postMessage: (message: unknown) => posted.push(message) } as unknown as Window;
  return { posted, window };
}

it('reports a node that is selected, with its source, once', () => {
  const { posted, window } = embedder();
  const stop = reportSelections(window);
  patchRoute({ node: 'forward/fc/addmm' });
  patchRoute({ slot: '0' });
  patchRoute({ node: null });
  patchRoute({ node: 'forward/log' });
  patchRoute({ node: 'forward/fc' });
  expect(posted).toEqual([
    { node: 'forward/fc/addmm', source: { file: '/home/me/train.py', line: 31 } },
    { node: 'forward/log', source: null },
    { node: 'forward/fc', source: null },
  ]);
  stop();
  patchRoute({ node: 'forward/fc/addmm' });
  expect(posted).toHaveLength(3);
});

it('posts nothing while the user works in the embedder', () => {
  const { posted, window } = embedder();
  reportSelections(window);
  hasFocus.mockReturnValue(false);
  patchRoute({ node: 'forward/log' });
  expect(posted).toEqual([]);
});

it('posts nothing to itself', () => {
  const post = vi.spyOn(window, 'postMessage');
  reportSelections();
  patchRoute({ node: 'forward/log' });
  expect(post).not.toHaveBeenCalled();
});
