// The first script of the page, kept small: it requests the graph, which takes longest to
// arrive, before the rest of the page is loaded.

import { earlyServerRequest } from './api/early';
import { splitCode, tokenStore } from './api/token';
import { parseRoute } from './state/route';
import { graphWorker } from './worker/client';

const route = parseRoute(window.location.hash);
if (route.view === 'job') {
  graphWorker.loadEarly({ job: route.route.job, graph: route.route.graph }, tokenStore.read());
}
// A one-time code must be exchanged for a token first.
if (splitCode(window.location.hash).code === null) earlyServerRequest.send();
void import('./main');
