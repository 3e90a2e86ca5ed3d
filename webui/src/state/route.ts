// The address: which job, and what is looked at in it. It lives in the fragment,
// so that it can be sent to somebody else and Back works.

export interface JobRoute {
  job: string;
  // Null: the one that the server shows first.
  graph: string | null;
  rank: number;
  node: string | null;
  // "0" is the first output, "in0" the first input.
  slot: string | null;
  // Null: the current value; "previous" or a number.
  step: string | null;
  // Null: the first slice that suits the tensor.
  slice: string | null;
  // How the tensor is shown, as "heat"; null: as numbers.
  panel: string | null;
  // What it is compared with, as "step:3"; null: with the previous step.
  against: string | null;
  // The node's neighbourhood is shown, so many tensors far; null: the whole graph.
  around: number | null;
  // Null: the page chooses which scopes to open.
  open: string[] | null;
}

// As far as the server goes.
export const MOST_AROUND = 20;

export type Route = { view: 'jobs' } | { view: 'job'; route: JobRoute };

export function jobRoute(job: string): JobRoute {
  return { job, graph: null, rank: 0, node: null, slot: null, step: null, slice: null, panel: null, against: null, around: null, open: null };
}

// Keeps names readable: only what would end the value is escaped.
function encode(text: string): string {
  return encodeURIComponent(text)
    .replaceAll('%2F', '/')
    .replaceAll('%3A', ':')
    .replaceAll('%5B', '[')
    .replaceAll('%5D', ']');
}

export function formatRoute(route: Route): string {
  if (route.view === 'jobs') return '#/';
  const { job, graph, rank, node, slot, step, slice, panel, against, around, open } = route.route;
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
  add('around', around === null ? null : String(around));
  add('open', open === null ? null : open.map(encode).join(','));
  const query = parts.length === 0 ? '' : `?${parts.join('&')}`;
  return `#/jobs/${encodeURIComponent(job)}${query}`;
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
  const match = /^#\/jobs\/([^?]+)(?:\?(.*))?$/.exec(fragment);
  if (!match) return { view: 'jobs' };
  const values = readQuery(match[2] ?? '');
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
      job: decode(match[1] ?? ''),
      graph: text('graph'),
      rank: Number.isInteger(rank) && rank >= 0 ? rank : 0,
      node: text('node'),
      slot: text('slot'),
      step: text('step'),
      slice: text('slice'),
      panel: text('panel'),
      against: text('with'),
      around: Number.isInteger(around) && around >= 1 ? Math.min(around, MOST_AROUND) : null,
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
