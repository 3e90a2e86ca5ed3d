// What is loaded first, and small: the graph is the slowest to come, so that it is
// asked for before the rest of the page is there.

import { readToken } from './api/token';
import { parseRoute } from './state/route';
import { loadEarly } from './worker/client';

const route = parseRoute(window.location.hash);
if (route.view === 'job') loadEarly(route.route.job, readToken());
void import('./main');
