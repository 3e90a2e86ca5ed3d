// Typed calls of the HTTP API.

import { pathOf } from '../base/run_id';
import type {
  Advice,
  AuditPage,
  ChangeRequest,
  CheckReport,
  CheckRequest,
  Collection,
  Conditions,
  ControlCommand,
  Finding,
  GraphSummary,
  Job,
  Neighbours,
  NodeDetail,
  Overview,
  OverviewMeasure,
  OverviewModule,
  OverviewOps,
  RecordedStep,
  Recording,
  RecordingRequest,
  Run,
  ScopeView,
  SearchPage,
  ServerInfo,
  Session,
  Comparison,
  Divergence,
  ExportedGraph,
  Histogram,
  Diagnosis,
  HitsPage,
  IncidentsPage,
  TensorHistory,
  TensorStatistics,
  TensorSummary,
  Training,
  Watchpoint,
  SelectionPreview,
  WatchpointSelection,
  WatchpointSpec,
  WhatIf,
} from './types';
import { http } from './http';

// `id` may be that of a recorded run, which answers the same requests.
function job(id: string, rest = ''): string {
  return `${pathOf(id)}${rest}`;
}

export interface SearchQuery {
  q: string;
  // Null: in names and code.
  in: 'names' | 'code' | null;
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
  bins: number;
  // Elements of `not_close`.
  list: number;
}

// Of one tensor, or of two and their difference.
export interface MapRequest extends TensorRequest {
  with: string | null;
  of: 'left' | 'right' | 'difference' | 'ulps';
}

export interface HitsRequest {
  watchpoint?: number | null;
  rank?: number | null;
  step?: number | null;
  node?: string | null;
  incident?: number | null;
  cursor?: string | null;
  limit: number;
}

const AUDIT_PAGE = 100;

export const api = {
  login: (code: string) =>
    http.json<{ token: string }>('/login', { method: 'POST', body: { code } }),
  endSession: () => http.json<void>('/session', { method: 'DELETE' }),
  session: (signal?: AbortSignal) => http.json<Session>('/session', { signal }),
  audit: (cursor: string | null, signal?: AbortSignal) =>
    http.json<AuditPage>('/audit', { query: { limit: AUDIT_PAGE, cursor }, signal }),
  server: (signal?: AbortSignal) => http.json<ServerInfo>('/server', { signal }),
  jobs: (signal?: AbortSignal) => http.json<{ jobs: Job[] }>('/jobs', { signal }),
  job: (id: string, signal?: AbortSignal) => http.json<Job>(job(id), { signal }),
  takeLease: (id: string) => http.json<void>(job(id, '/lease'), { method: 'POST', body: {} }),
  releaseLease: (id: string) => http.json<void>(job(id, '/lease'), { method: 'DELETE' }),
  forget: (id: string) => http.json<void>(job(id), { method: 'DELETE' }),
  control: (
    id: string,
    body: { command: ControlCommand; steps?: number; node?: string; rank?: number },
  ) => http.json<{ command_id: string }>(job(id, '/control'), { method: 'POST', body }),

  trainings: (signal?: AbortSignal) => http.json<{ host: string; trainings: Training[] }>('/trainings', { signal }),
  attach: (pid: number) =>
    http.json<{ job: string; message: string }>(`/trainings/${pid}/attach`, { method: 'POST', body: {} }),
  detach: (pid: number) => http.json<{ message: string }>(`/trainings/${pid}/detach`, { method: 'POST', body: {} }),

  openModel: (name: string, file: Blob) =>
    http.json<{ job: string }>('/graphs', { method: 'POST', query: { name }, file }),

  graphs: (id: string, signal?: AbortSignal) =>
    http.json<{ graphs: GraphSummary[] }>(job(id, '/graphs'), { signal }),
  scope: (id: string, graph: string | null, name: string, signal?: AbortSignal) =>
    http.json<ScopeView>(job(id, '/graph/scope'), { query: { graph, name }, signal }),
  neighbours: (id: string, name: string, depth: number, rank: number, step: string | null, signal?: AbortSignal) =>
    http.json<Neighbours>(job(id, '/graph/neighbours'), { query: { name, depth, rank, step }, signal }),
  exportedGraph: (id: string, graph: string | null, signal?: AbortSignal) =>
    http.json<ExportedGraph>(job(id, '/graph/export'), { query: { graph, format: 'json' }, signal }),
  node: (id: string, name: string, signal?: AbortSignal) =>
    http.json<NodeDetail>(job(id, '/graph/node'), { query: { name }, signal }),
  nodesOfLine: (id: string, source: string, signal?: AbortSignal) =>
    http.json<SearchPage>(job(id, '/graph/search'), { query: { source, limit: 1000 }, signal }),
  search: (id: string, query: SearchQuery, signal?: AbortSignal) =>
    http.json<SearchPage>(job(id, '/graph/search'), { query: { ...query }, signal }),
  sourceFile: (id: string, file: string, signal?: AbortSignal) =>
    http.json<{ file: string; text: string }>(job(id, '/graph/source'), { query: { file }, signal }),

  conditions: (signal?: AbortSignal) =>
    http.json<Conditions>('/conditions', { signal }),
  advice: (condition: string, op_type: string, dtype: string, signal?: AbortSignal) =>
    http.json<Advice>(`/conditions/${encodeURIComponent(condition)}/advice`, { query: { op_type, dtype }, signal }),
  addWatchpoint: (id: string, spec: WatchpointSpec) =>
    http.json<Watchpoint>(job(id, '/watchpoints'), { method: 'POST', body: spec }),
  changeWatchpoint: (id: string, watchpoint: number, change: Partial<WatchpointSpec>) =>
    http.json<Watchpoint>(job(id, `/watchpoints/${watchpoint}`), { method: 'PATCH', body: change }),
  removeWatchpoint: (id: string, watchpoint: number) =>
    http.json<void>(job(id, `/watchpoints/${watchpoint}`), { method: 'DELETE' }),

  previewWatchpoint: (id: string, spec: WatchpointSelection, signal?: AbortSignal) =>
    http.json<SelectionPreview>(job(id, '/watchpoints/preview'), {
      method: 'POST',
      body: spec,
      signal,
    }),
  recommended: (id: string) =>
    http.json<{ watchpoints: Watchpoint[]; made: number[] }>(job(id, '/watchpoints/recommended'), {
      method: 'POST',
      body: {},
    }),
  hits: (id: string, query: HitsRequest, signal?: AbortSignal) =>
    http.json<HitsPage>(job(id, '/hits'), { query: { ...query }, signal }),
  diagnosis: (id: string, hit: number, signal?: AbortSignal) =>
    http.json<Diagnosis>(job(id, `/hits/${hit}/diagnosis`), { signal }),
  incidents: (id: string, limit: number) => http.json<IncidentsPage>(job(id, '/incidents'), { query: { limit } }),
  // The newest ones.
  findings: (id: string, limit: number, signal?: AbortSignal) =>
    http.json<{ findings: Finding[]; total: number }>(job(id, '/findings'), { query: { limit }, signal }),

  // All statistics of a step: see proto/docs/step-statistics.md. `step` is null for jobs.
  stepStatistics: (id: string, rank: number, step: string | null, signal?: AbortSignal) =>
    http.columns(job(id, '/statistics'), { rank, step }, signal),
  // `step` is null for jobs.
  tensors: (id: string, node: string, rank: number, step: string | null, signal?: AbortSignal) =>
    http.json<{ node: string; tensors: TensorSummary[] }>(job(id, '/tensors'), { query: { node, rank, step }, signal }),
  slice: (id: string, query: TensorRequest, signal?: AbortSignal) =>
    http.slice(job(id, '/tensor'), { ...query }, signal),
  histogram: (id: string, query: TensorRequest & { bins: number }, signal?: AbortSignal) =>
    http.json<Histogram>(job(id, '/tensor/histogram'), { query: { ...query }, signal }),
  history: (id: string, name: string, rank: number, signal?: AbortSignal) =>
    http.json<TensorHistory>(job(id, '/tensor/history'), { query: { name, rank }, signal }),
  compare: (id: string, query: CompareRequest, signal?: AbortSignal) =>
    http.json<Comparison>(job(id, '/tensor/compare'), { query: { ...query }, signal }),
  map: (id: string, query: MapRequest, signal?: AbortSignal) => http.map(job(id, '/tensor/map'), { ...query }, signal),
  download: (id: string, query: Omit<TensorRequest, 'slice'>, format: 'npy' | 'safetensors') =>
    http.file(job(id, '/tensor/download'), { ...query, format }),
  bundle: (id: string, hit: number) => http.file(job(id, `/hits/${hit}/bundle`), {}),
  // All experiments that make a difference if none is named.
  whatIf: (id: string, hit: number, experiments: readonly string[]) =>
    http.json<WhatIf>(job(id, '/whatif'), { method: 'POST', body: { hit, experiments } }),
  change: (id: string, body: ChangeRequest) =>
    http.json<{ changes: Array<{ rank: number; text: string }> }>(job(id, '/change'), { method: 'POST', body }),
  catchTensors: (id: string, node: string, rank: number) =>
    http.json<{ node: string }>(job(id, '/tensor/catch'), { method: 'POST', body: { node, rank } }),
  recording: (id: string, signal?: AbortSignal) => http.json<Recording>(job(id, '/recording'), { signal }),
  setRecording: (id: string, body: RecordingRequest) =>
    http.json<Recording>(job(id, '/recording'), { method: 'PUT', body }),
  runHistory: (id: string, name: string, rank: number, points: number, signal?: AbortSignal) =>
    http.json<TensorHistory>(job(id, '/tensor/history'), { query: { name, rank, points }, signal }),
  // `after`: only later steps; null for all.
  overview: (id: string, rank: number, after: number | null, signal?: AbortSignal) =>
    http.json<Overview>(job(id, '/overview'), { query: { rank, after }, signal }),
  overviewValues: (id: string, rank: number, measure: OverviewMeasure, after: number | null, signal?: AbortSignal) =>
    http.floats(job(id, '/overview/values'), { rank, measure, after }, signal),
  overviewModule: (id: string, rank: number, module: string, signal?: AbortSignal) =>
    http.json<OverviewModule>(job(id, '/overview/module'), { query: { rank, module }, signal }),
  overviewOps: (id: string, rank: number, step: number | null, signal?: AbortSignal) =>
    http.json<OverviewOps>(job(id, '/overview/ops'), { query: { rank, step }, signal }),
  runs: (signal?: AbortSignal) => http.json<{ runs: Run[] }>('/runs', { signal }),
  run: (id: string, signal?: AbortSignal) => http.json<Run>(job(id), { signal }),
  steps: (id: string, query: { rank: number; limit: number; cursor: string | null }, signal?: AbortSignal) =>
    http.json<{ steps: RecordedStep[]; next_cursor: string | null }>(job(id, '/steps'), { query, signal }),
  collections: (id: string, signal?: AbortSignal) =>
    http.json<{ collections: Collection[] }>(job(id, '/collections'), { signal }),
  divergence: (id: string, rank: number, other: string, terms: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    http.json<Divergence>(job(id, '/divergence'), { query: { ...terms, rank, with: other }, signal }),
  startCheck: (id: string, body: CheckRequest) =>
    http.json<{ check_id: string }>(job(id, '/checks'), { method: 'POST', body }),
  check: (id: string, check: string, signal?: AbortSignal) =>
    http.json<CheckReport>(job(id, `/checks/${check}`), { signal }),
  endCheck: (id: string, check: string) => http.json<void>(job(id, `/checks/${check}`), { method: 'DELETE' }),

  statistics: (id: string, query: Omit<TensorRequest, 'slice'>, signal?: AbortSignal) =>
    http.json<TensorStatistics>(job(id, '/tensor/statistics'), { query: { ...query }, signal }),
};
