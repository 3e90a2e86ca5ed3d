// Reports the selected node to a page that embeds this one, such as the view of an editor, which
// shows its source. Only embedders that the server's content policy names can receive it.

import { NONE, type GraphIndex } from '../index/graph_index';
import { nodeOf } from '../index/scope_view';
import { useRouter } from './router';
import type { Route } from './route';
import { useScopes } from './scopes';

const nodeOfRoute = (route: Route): string | null => (route.view === 'job' ? route.route.node : null);

function sourceOf(index: GraphIndex | null, node: string) {
  const item = index?.find(node) ?? NONE;
  return index === null || item === NONE ? null : nodeOf(index, item, null).source;
}

// Posts `{node, source}` to `embedder` for each node that is selected from now on, until the returned
// function is called. Posts nothing if the page is not embedded, and nothing while the user works in
// the embedder: the page then follows the job by itself.
export function reportSelections(embedder: Window = window.parent): () => void {
  if (embedder === window) return () => {};
  return useRouter.subscribe(({ route }, before) => {
    const node = nodeOfRoute(route);
    if (node === null || node === nodeOfRoute(before.route) || !document.hasFocus()) return;
    embedder.postMessage({ node, source: sourceOf(useScopes.getState().index, node) }, '*');
  });
}
