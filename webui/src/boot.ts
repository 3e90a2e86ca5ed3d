// What is loaded first, and small: the graph is the slowest to come, so that it is
// asked for before the rest of the page is there.

import { askServerEarly } from './api/early';
import { readToken, takeCode } from './api/token';
import { parseRoute } from './state/route';
import { loadEarly } from './worker/client';

const route = parseRoute(window.location.hash);
if (route.view === 'job') loadEarly({ job: route.route.job, graph: route.route.graph }, readToken());
// A one-time code has to be changed for a token first.
if (takeCode(window.location.hash).code === null) askServerEarly();
void import('./main');
