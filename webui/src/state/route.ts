// The address of a view, stored in the URL fragment so that it can be shared and so that Back works.

import { pathOf, runId } from '../base/run_id';

export interface JobRoute {
  // The id of a job, or of a recorded run (base/run_id.ts).
  job: string;
  // Null for the graph that the server shows first.
  graph: string | null;
  rank: number;
  node: string | null;
  // "0" is the first output, "in0" the first input.
  slot: string | null;
  // "previous" or a number; null for the current value. Of a recorded run: the step that the
  // page shows; null for the last one.
  step: string | null;
  // Null for the initial slice of the tensor.
  slice: string | null;
  // The view of the tensor, such as "heat"; null for numbers.
  panel: string | null;
  // The other side of the comparison, such as "step:3"; null for the previous step.
  against: string | null;
  // The run and rank that a recorded run is compared with, such as "abc:0".
  compare: string | null;
  // How that comparison is made, such as "rtol=0.001&by=digest"; null for the server's defaults.
  terms: string | null;
  // Both graphs of that comparison are shown side by side.
  beside: boolean;
  // Depth of the node's neighbourhood in tensors; null shows the whole graph.
  around: number | null;
  // The overview takes the place of the graph and shows this, such as "gradient"; null: the graph.
  overview: string | null;
  // Open scopes; null lets the page choose them.
  open: string[] | null;
}

// The server's limit.
export const MAX_AROUND = 20;

export type Route =
  | { view: 'jobs' }
  | { view: 'audit' }
  // `graphdbg run` has started the program `name`, which has not connected yet.
  | { view: 'starting'; name: string }
  | { view: 'job'; route: JobRoute };

export function jobRoute(job: string): JobRoute {
  return { job, graph: null, rank: 0, node: null, slot: null, step: null, slice: null, panel: null, against: null, compare: null, terms: null, beside: false, around: null, overview: null, open: null };
}

const AUDIT = '#/audit';
const STARTING = '#/starting/';

// Escapes only characters that would end the value, to keep names readable.
function encode(text: string): string {
  return encodeURIComponent(text)
    .replaceAll('%2F', '/')
    .replaceAll('%3A', ':')
    .replaceAll('%5B', '[')
    .replaceAll('%5D', ']');
}

export function formatRoute(route: Route): string {
  if (route.view === 'jobs') return '#/';
  if (route.view === 'audit') return AUDIT;
  if (route.view === 'starting') return STARTING + encode(route.name);
  const { job, graph, rank, node, slot, step, slice, panel, against, compare, terms, beside, around, overview, open } = route.route;
  const parts: string[] = [];
  const add = (key: string, value: string | null) => {
    if (value !== null) parts.push(`${key}=${value}`);
  };
  add('graph', graph === null ? null : encode(graph));
  add('rank', rank === 0 ? null : String(rank));
  add('node', node === null ? null : encode(node));
  add('slot', slot === null ? null : encode(slot));
  add('step', step === null ? null : encode(step));
  add('slice', slice === null ? null : encode(slice));
  add('panel', panel === null ? null : encode(panel));
  add('with', against === null ? null : encode(against));
  add('compare', compare === null ? null : encode(compare));
  add('terms', terms === null ? null : encode(terms));
  add('beside', beside ? '1' : null);
  add('around', around === null ? null : String(around));
  add('overview', overview === null ? null : encode(overview));
  add('open', open === null ? null : open.map(encode).join(','));
  const query = parts.length === 0 ? '' : `?${parts.join('&')}`;
  return `#${pathOf(job)}${query}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function readQuery(query: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const part of query.split('&')) {
    const cut = part.indexOf('=');
    if (cut > 0) values.set(part.slice(0, cut), part.slice(cut + 1));
  }
  return values;
}

export function parseRoute(fragment: string): Route {
  if (fragment === AUDIT) return { view: 'audit' };
  if (fragment.startsWith(STARTING)) {
    // A one-time code may follow.
    const [name = ''] = fragment.slice(STARTING.length).split('?');
    return { view: 'starting', name: decode(name) };
  }
  const match = /^#\/(jobs|runs)\/([^?]+)(?:\?(.*))?$/.exec(fragment);
  if (!match) return { view: 'jobs' };
  const values = readQuery(match[3] ?? '');
  const name = decode(match[2] ?? '');
  const text = (key: string) => {
    const value = values.get(key);
    return value === undefined || value === '' ? null : decode(value);
  };
  const rank = Number(text('rank') ?? '0');
  const around = Number(text('around') ?? NaN);
  const open = values.get('open');
  return {
    view: 'job',
    route: {
      job: match[1] === 'runs' ? runId(name) : name,
      graph: text('graph'),
      rank: Number.isInteger(rank) && rank >= 0 ? rank : 0,
      node: text('node'),
      slot: text('slot'),
      step: text('step'),
      slice: text('slice'),
      panel: text('panel'),
      against: text('with'),
      compare: text('compare'),
      terms: text('terms'),
      beside: text('beside') === '1',
      around: Number.isInteger(around) && around >= 1 ? Math.min(around, MAX_AROUND) : null,
      overview: text('overview'),
      open:
        open === undefined
          ? null
          : open
              .split(',')
              .filter((name) => name !== '')
              .map(decode),
    },
  };
}
