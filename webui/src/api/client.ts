// Typed calls of the HTTP API.

import type {
  Conditions,
  ControlCommand,
  GraphSummary,
  Job,
  NodeDetail,
  ScopeView,
  SearchPage,
  ServerInfo,
  Tensor,
  TensorStatistics,
  TensorSummary,
  Watchpoint,
  WatchpointSpec,
} from './types';
import { problemFrom, unreachable } from './problem';
import { readToken } from './token';

const BASE = '/api/v1';

type Query = Record<string, string | number | null | undefined>;

interface Options {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  query?: Query;
  body?: unknown;
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

async function request<T>(path: string, options: Options = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  const token = readToken();
  if (token !== null) headers['Authorization'] = `Bearer ${token}`;
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(addressOf(path, options.query), {
      method: options.method ?? 'GET',
      headers,
      cache: 'no-store',
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  if (!response.ok) {
    if (response.status === 401 && path !== '/login') onUnauthorized();
    throw await problemFrom(response);
  }
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

function job(id: string, rest = ''): string {
  return `/jobs/${encodeURIComponent(id)}${rest}`;
}

export interface TensorRequest {
  name: string;
  rank: number;
  step: string | null;
  slice: string;
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

  graphs: (id: string, signal?: AbortSignal) =>
    request<{ graphs: GraphSummary[] }>(job(id, '/graphs'), { signal }),
  scope: (id: string, name: string, signal?: AbortSignal) =>
    request<ScopeView>(job(id, '/graph/scope'), { query: { name }, signal }),
  node: (id: string, name: string, signal?: AbortSignal) =>
    request<NodeDetail>(job(id, '/graph/node'), { query: { name }, signal }),
  search: (id: string, q: string, limit: number, cursor: string | null, signal?: AbortSignal) =>
    request<SearchPage>(job(id, '/graph/search'), { query: { q, limit, cursor }, signal }),

  conditions: (signal?: AbortSignal) =>
    request<Conditions>('/conditions', { signal }),
  addWatchpoint: (id: string, spec: WatchpointSpec) =>
    request<Watchpoint>(job(id, '/watchpoints'), { method: 'POST', body: spec }),
  changeWatchpoint: (id: string, watchpoint: number, change: Partial<WatchpointSpec>) =>
    request<Watchpoint>(job(id, `/watchpoints/${watchpoint}`), { method: 'PATCH', body: change }),
  removeWatchpoint: (id: string, watchpoint: number) =>
    request<void>(job(id, `/watchpoints/${watchpoint}`), { method: 'DELETE' }),

  tensors: (id: string, node: string, rank: number, signal?: AbortSignal) =>
    request<{ node: string; tensors: TensorSummary[] }>(job(id, '/tensors'), { query: { node, rank }, signal }),
  tensor: (id: string, query: TensorRequest, signal?: AbortSignal) =>
    request<Tensor>(job(id, '/tensor'), { query: { ...query, statistics: 1 }, signal }),
  catchTensors: (id: string, node: string, rank: number) =>
    request<{ node: string }>(job(id, '/tensor/catch'), { method: 'POST', body: { node, rank } }),
  statistics: (id: string, name: string, rank: number, signal?: AbortSignal) =>
    request<TensorStatistics>(job(id, '/tensor/statistics'), { query: { name, rank }, signal }),
};
