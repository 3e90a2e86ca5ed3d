import { beforeEach, expect, it, vi } from 'vitest';
import { liftEdges } from '../index/lifted_edges';
import { sampleIndex } from '../testing/sample_index';
import { sampleScope, sampleView } from '../testing/samples';
import type { FromWorker, ToWorker } from '../worker/messages';

const worker = vi.hoisted(() => ({
  listeners: [] as Array<(message: FromWorker) => void>,
  posted: [] as ToWorker[],
}));
vi.mock('../worker/client', () => ({
  graphWorker: {
    post: (message: ToWorker) => void worker.posted.push(message),
    subscribe: (listener: (message: FromWorker) => void) => {
      worker.listeners.push(listener);
      return () => {};
    },
    takeEarly: () => false,
  },
}));
const fetchScope = vi.hoisted(() => vi.fn());
vi.mock('../api/client', () => ({ api: { scope: fetchScope } }));

const { graphLoader } = await import('./graph_loader');
const { useScopes } = await import('./scopes');

const answer = (message: FromWorker) => worker.listeners.forEach((listener) => listener(message));
const keyOf = (job: string) => ({ job, graph: null });

function indexOf(job: string): FromWorker {
  const index = sampleIndex([{ name: 'forward/a' }, { name: 'forward/b', inputs: ['forward/a'] }]);
  return { type: 'index', key: keyOf(job), arrays: index.arrays, lifted: liftEdges(index) };
}

beforeEach(() => {
  worker.posted.length = 0;
  fetchScope.mockReset();
});

it('requests the index of a graph once, and again after a change that came meanwhile', () => {
  graphLoader.show('once', null);
  graphLoader.show('once', null);
  graphLoader.graphChanged();
  expect(worker.posted).toHaveLength(1);
  answer(indexOf('once'));
  expect(useScopes.getState().index?.nodeCount).toBe(2);
  expect(worker.posted).toHaveLength(2);
});

it('starts over with another graph, and ignores a late index of the previous one', () => {
  graphLoader.show('first', null);
  graphLoader.show('second', null);
  answer(indexOf('first'));
  expect(useScopes.getState()).toMatchObject({ job: 'second', index: null });
  answer(indexOf('second'));
  expect(useScopes.getState().index).not.toBeNull();
});

it('fetches scopes one by one where the server provides no index', async () => {
  fetchScope.mockImplementation(async (_job, _graph, name: string) => sampleView(name, [sampleScope('forward', 3)]));
  graphLoader.show('old server', null);
  answer({ type: 'failed', key: keyOf('old server'), refused: true });
  graphLoader.ensureScopes(new Set(['forward']), false);
  await vi.waitFor(() => expect([...useScopes.getState().views.keys()]).toEqual(['', 'forward']));
  graphLoader.ensureScopes(new Set(['forward']), false);
  expect(fetchScope).toHaveBeenCalledTimes(2);
});

it('keeps the index when a later request fails', () => {
  graphLoader.show('kept', null);
  answer(indexOf('kept'));
  graphLoader.graphChanged();
  answer({ type: 'failed', key: keyOf('kept'), refused: false });
  expect(useScopes.getState().index).not.toBeNull();
  graphLoader.graphChanged();
  expect(worker.posted.filter(({ type }) => type === 'load')).toHaveLength(3);
});
