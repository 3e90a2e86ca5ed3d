// Typed calls of the HTTP API.

import type {
  Conditions,
  ControlCommand,
  GraphSummary,
  Job,
  Neighbours,
  NodeDetail,
  ScopeView,
  SearchPage,
  ServerInfo,
  Comparison,
  Histogram,
  HitsPage,
  TensorHistory,
  TensorSlice,
  TensorStatistics,
  TensorSummary,
  Watchpoint,
  WatchpointSelection,
  WatchpointSpec,
} from './types';
import { decodeElements } from '../base/elements';
import { takeServerEarly } from './early';
import { problemFrom, unreachable } from './problem';
import { readToken } from './token';

const BASE = '/api/v1';

type Query = Record<string, string | number | null | undefined>;

interface Options {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  query?: Query;
  body?: unknown;
  // Instead of a body in JSON: bytes as they are.
  file?: Blob;
  signal?: AbortSignal | undefined;
}

function addressOf(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) search.set(key, String(value));
  }
  const text = search.toString();
  return text === '' ? BASE + path : `${BASE}${path}?${text}`;
}

let onUnauthorized: () => void = () => {};

// Called when a request is refused for want of a valid token.
export function setUnauthorizedHandler(handler: () => void): void {
  onUnauthorized = handler;
}

async function send(path: string, options: Options, accept: string): Promise<Response> {
  const headers: Record<string, string> = { Accept: accept };
  const token = readToken();
  if (token !== null) headers['Authorization'] = `Bearer ${token}`;
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  if (options.file !== undefined) headers['Content-Type'] = 'application/octet-stream';
  let response: Response;
  try {
    const early = path === '/server' ? takeServerEarly() : null;
    response = await (early ??
      fetch(addressOf(path, options.query), {
        method: options.method ?? 'GET',
        headers,
        cache: 'no-store',
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        ...(options.file === undefined ? {} : { body: options.file }),
        ...(options.signal ? { signal: options.signal } : {}),
      }));
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  if (!response.ok) {
    if (response.status === 401 && path !== '/login') onUnauthorized();
    throw await problemFrom(response);
  }
  return response;
}

async function request<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send(path, options, 'application/json');
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

function numbersOf(header: string | null): number[] {
  return (header ?? '').split(',').flatMap((part) => (part.trim() === '' ? [] : [Number(part)]));
}

// Values of a slice as they lie in memory, not as text: ten times as fast.
async function requestSlice(path: string, query: Query, signal?: AbortSignal): Promise<TensorSlice> {
  const response = await send(path, { query, signal }, 'application/octet-stream');
  const { headers } = response;
  const dtype = headers.get('X-Graphdbg-Dtype') ?? '';
  const scale = headers.get('X-Graphdbg-Grad-Scale');
  const buffer = await response.arrayBuffer();
  const received_at = performance.now();
  return {
    name: String(query['name']),
    step: Number(headers.get('X-Graphdbg-Step')),
    slice: String(query['slice']),
    shape: numbersOf(headers.get('X-Graphdbg-Shape')),
    overwritten: headers.get('X-Graphdbg-Overwritten') === 'true',
    grad_scale: scale === null ? null : Number(scale),
    elements: decodeElements(dtype, buffer),
    dtype,
    received_at,
  };
}

// A file of the server, with the name that it gives it.
async function requestFile(path: string, query: Query): Promise<{ name: string; data: Blob }> {
  const response = await send(path, { query }, 'application/octet-stream');
  const said = response.headers.get('Content-Disposition') ?? '';
  const name = /filename="([^"]+)"/.exec(said)?.[1] ?? 'tensor';
  return { name, data: await response.blob() };
}

function job(id: string, rest = ''): string {
  return `/jobs/${encodeURIComponent(id)}${rest}`;
}

export interface SearchQuery {
  q: string;
  op_type: string | null;
  category: string | null;
  kind: string | null;
  // FILE or FILE:LINE.
  source: string | null;
  limit: number;
  cursor: string | null;
}

export interface TensorRequest {
  name: string;
  rank: number;
  step: string | null;
  slice: string;
}

export interface CompareRequest extends TensorRequest {
  with: string;
  rtol: number;
  atol: number;
}

export interface HitsRequest {
  watchpoint?: number | null;
  rank?: number | null;
  step?: number | null;
  node?: string | null;
  cursor?: string | null;
  limit: number;
}

export const api = {
  login: (code: string) =>
    request<{ token: string }>('/login', { method: 'POST', body: { code } }),
  server: (signal?: AbortSignal) => request<ServerInfo>('/server', { signal }),
  jobs: (signal?: AbortSignal) => request<{ jobs: Job[] }>('/jobs', { signal }),
  job: (id: string, signal?: AbortSignal) => request<Job>(job(id), { signal }),
  forget: (id: string) => request<void>(job(id), { method: 'DELETE' }),
  control: (
    id: string,
    body: { command: ControlCommand; steps?: number; node?: string; rank?: number },
  ) => request<{ command_id: string }>(job(id, '/control'), { method: 'POST', body }),

  openModel: (name: string, file: Blob) =>
    request<{ job: string }>('/graphs', { method: 'POST', query: { name }, file }),

  graphs: (id: string, signal?: AbortSignal) =>
    request<{ graphs: GraphSummary[] }>(job(id, '/graphs'), { signal }),
  scope: (id: string, graph: string | null, name: string, signal?: AbortSignal) =>
    request<ScopeView>(job(id, '/graph/scope'), { query: { graph, name }, signal }),
  neighbours: (id: string, name: string, depth: number, rank: number, signal?: AbortSignal) =>
    request<Neighbours>(job(id, '/graph/neighbours'), { query: { name, depth, rank }, signal }),
  node: (id: string, name: string, signal?: AbortSignal) =>
    request<NodeDetail>(job(id, '/graph/node'), { query: { name }, signal }),
  nodesOfLine: (id: string, source: string, signal?: AbortSignal) =>
    request<SearchPage>(job(id, '/graph/search'), { query: { source, limit: 1000 }, signal }),
  search: (id: string, query: SearchQuery, signal?: AbortSignal) =>
    request<SearchPage>(job(id, '/graph/search'), { query: { ...query }, signal }),

  conditions: (signal?: AbortSignal) =>
    request<Conditions>('/conditions', { signal }),
  addWatchpoint: (id: string, spec: WatchpointSpec) =>
    request<Watchpoint>(job(id, '/watchpoints'), { method: 'POST', body: spec }),
  changeWatchpoint: (id: string, watchpoint: number, change: Partial<WatchpointSpec>) =>
    request<Watchpoint>(job(id, `/watchpoints/${watchpoint}`), { method: 'PATCH', body: change }),
  removeWatchpoint: (id: string, watchpoint: number) =>
    request<void>(job(id, `/watchpoints/${watchpoint}`), { method: 'DELETE' }),

  previewWatchpoint: (id: string, spec: WatchpointSelection, signal?: AbortSignal) =>
    request<{ node_count: number }>(job(id, '/watchpoints/preview'), {
      method: 'POST',
      body: spec,
      signal,
    }),
  recommended: (id: string) =>
    request<{ watchpoints: Watchpoint[]; made: number[] }>(job(id, '/watchpoints/recommended'), {
      method: 'POST',
      body: {},
    }),
  hits: (id: string, query: HitsRequest, signal?: AbortSignal) =>
    request<HitsPage>(job(id, '/hits'), { query: { ...query }, signal }),

  tensors: (id: string, node: string, rank: number, signal?: AbortSignal) =>
    request<{ node: string; tensors: TensorSummary[] }>(job(id, '/tensors'), { query: { node, rank }, signal }),
  slice: (id: string, query: TensorRequest, signal?: AbortSignal) =>
    requestSlice(job(id, '/tensor'), { ...query }, signal),
  histogram: (id: string, query: TensorRequest & { bins: number }, signal?: AbortSignal) =>
    request<Histogram>(job(id, '/tensor/histogram'), { query: { ...query }, signal }),
  history: (id: string, name: string, rank: number, signal?: AbortSignal) =>
    request<TensorHistory>(job(id, '/tensor/history'), { query: { name, rank }, signal }),
  compare: (id: string, query: CompareRequest, signal?: AbortSignal) =>
    request<Comparison>(job(id, '/tensor/compare'), { query: { ...query }, signal }),
  download: (id: string, query: Omit<TensorRequest, 'slice'>, format: 'npy' | 'safetensors') =>
    requestFile(job(id, '/tensor/download'), { ...query, format }),
  catchTensors: (id: string, node: string, rank: number) =>
    request<{ node: string }>(job(id, '/tensor/catch'), { method: 'POST', body: { node, rank } }),
  statistics: (id: string, query: Omit<TensorRequest, 'slice'>, signal?: AbortSignal) =>
    request<TensorStatistics>(job(id, '/tensor/statistics'), { query: { ...query }, signal }),
};
