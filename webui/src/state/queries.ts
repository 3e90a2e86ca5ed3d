// Data requested from the server on demand. A query's key contains everything that makes its answer
// out of date.

import { keepPreviousData, QueryClient, queryOptions, useInfiniteQuery, useQuery, useQueries } from '@tanstack/react-query';
import { api, type MapRequest } from '../api/client';
import { Problem } from '../api/problem';
import type { GraphSummary, Hit, TensorSlice, WatchpointSelection } from '../api/types';
import { isRun } from '../base/run_id';
import { transposeElements } from '../base/transpose';
import { isFold } from '../index/model_folds';
import { parseQuery } from '../index/query';
import { usualStepSeconds } from '../overview/steps';
import { useJob } from './job_store';
import { useScopes } from './scopes';

const MAX_RETRIES = 2;

// Retries only if the server could not be reached.
function retry(failures: number, error: Error): boolean {
  return error instanceof Problem && error.status === 0 && failures < MAX_RETRIES;
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry, staleTime: Infinity, gcTime: 60_000, refetchOnWindowFocus: false },
    },
  });
}

export const SEARCH_PAGE = 200;

const NO_GRAPHS: readonly GraphSummary[] = [];

// The job's graphs; empty until they are loaded.
export function useGraphs(job: string): readonly GraphSummary[] {
  const version = useJob(({ model }) => model.graph_version);
  const { data } = useQuery({
    queryKey: ['graphs', job, version],
    queryFn: ({ signal }) => api.graphs(job, signal),
    enabled: version > 0,
    placeholderData: keepPreviousData,
  });
  return data?.graphs ?? NO_GRAPHS;
}

export function useConditions() {
  return useQuery({
    queryKey: ['conditions'],
    queryFn: ({ signal }) => api.conditions(signal),
  });
}

// Sentences about a hit.
export function useAdvice({ condition, op_type, dtype }: Hit) {
  return useQuery({
    queryKey: ['advice', condition, op_type, dtype],
    queryFn: ({ signal }) => api.advice(condition, op_type, dtype, signal),
    staleTime: Infinity,
  });
}

// The likely cause of a hit. What another rank has sent is known only when the step has ended.
// Asks for nothing without a hit.
export function useDiagnosis(hit: number | null) {
  const job = useJob((state) => state.id);
  const version = useJob(({ model }) => model.stops);
  return useQuery({
    queryKey: ['diagnosis', job, hit, version],
    queryFn: ({ signal }) => api.diagnosis(job ?? '', hit ?? 0, signal),
    enabled: job !== null && hit !== null,
    placeholderData: (previous) => (previous?.hit === hit ? previous : undefined),
  });
}

const MAX_INCIDENT_HITS = 200;

// The first hits of an incident.
export function useIncidentHits(incident: number) {
  const job = useJob((state) => state.id);
  const version = useJob(({ model }) => model.hit_version);
  return useQuery({
    queryKey: ['incident_hits', job, incident, version],
    queryFn: ({ signal }) => api.hits(job ?? '', { incident, limit: MAX_INCIDENT_HITS }, signal),
    enabled: job !== null,
    placeholderData: keepPreviousData,
  });
}

// The rank and op that sent the non-finite values of a hit; undefined if no other rank did. The
// server knows it only when the step has ended, which is after it has sent the hit.
export function useSender({ id, rank, step, node, statistics }: Hit) {
  const job = useJob((state) => state.id);
  const version = useJob(({ model }) => model.stops);
  const several = useJob(({ model }) => (model.info?.world_size ?? 1) > 1);
  const finite = statistics === null || statistics.nan_count + statistics.pos_inf_count + statistics.neg_inf_count === 0;
  const { data } = useQuery({
    queryKey: ['sender', job, id, version],
    queryFn: ({ signal }) => api.hits(job ?? '', { rank, step, node, limit: 100 }, signal),
    enabled: job !== null && several && !finite,
  });
  return data?.hits.find((hit) => hit.id === id)?.sent_by ?? undefined;
}

export function useNode(job: string, node: string | null) {
  const version = useJob(({ model }) => model.graph_version + model.watch_version + model.stops);
  const fold = useScopes(({ index }) => node !== null && isFold(index, node));
  return useQuery({
    queryKey: ['node', job, node, version],
    queryFn: ({ signal }) => api.node(job, node ?? '', signal),
    enabled: node !== null && !fold,
    // A change of the graph must not blank the panel, but a change of the node must.
    placeholderData: (previous) => (previous?.name === node ? previous : undefined),
  });
}

// The step to ask a recorded run for; null for a job, which answers for the present.
export function recordedStep(job: string, step: number): string | null {
  return isRun(job) ? String(step) : null;
}

interface NeighbourRequest {
  job: string;
  node: string;
  depth: number;
  rank: number;
  step: number;
  // The recorded run, which has all statistics; null for a job.
  recorded: string | null;
  paused: boolean;
}

// The number of tensors whose statistics are requested from the job for one drawing.
const MAX_REQUESTED = 60;

// The server returns the statistics that it has. Those of an earlier step are first requested from
// the job, if it is paused, as far as it still has the values.
async function neighboursNow(request: NeighbourRequest, signal: AbortSignal) {
  const { job, node, depth, rank, step, recorded, paused } = request;
  const fetchNeighbours = () => api.neighbours(job, node, depth, rank, recorded, signal);
  const known = await fetchNeighbours();
  if (!paused || recorded !== null) return known;
  const old = known.tensors.filter((tensor) => tensor.statistics_step !== step).slice(0, MAX_REQUESTED);
  const answers = await Promise.allSettled(
    old.map(({ name }) => api.statistics(job, { name, rank, step: null }, signal)),
  );
  return answers.some(({ status }) => status === 'fulfilled') ? fetchNeighbours() : known;
}

// Statistics along the edges change with every stop.
export function useNeighbours(job: string, node: string | null, depth: number | null, rank: number) {
  const version = useJob(({ model }) => model.graph_version + model.hit_version + model.stops);
  const step = useJob(({ model }) => model.info?.step ?? 0);
  const paused = useJob(({ model }) => model.info?.state === 'paused');
  return useQuery({
    queryKey: ['neighbours', job, node, depth, rank, version, step, paused],
    queryFn: async ({ signal }) => {
      const recorded = recordedStep(job, step);
      const around = await neighboursNow({ job, node: node ?? '', depth: depth ?? 1, rank, step, recorded, paused }, signal);
      return { around, step };
    },
    enabled: node !== null && depth !== null,
    placeholderData: keepPreviousData,
  });
}

// The server's search. `part`: "code" for what the index does not find; null for everything.
export function useServerSearch(
  job: string,
  text: string,
  graphVersion: number,
  enabled: boolean,
  part: 'code' | null = null,
) {
  return useInfiniteQuery({
    queryKey: ['search', job, text, graphVersion, part],
    queryFn: ({ signal, pageParam }) => {
      const { words, op_type, category, kind, file, line } = parseQuery(text);
      const source = file === null ? null : `${file}${line > 0 ? `:${line}` : ''}`;
      const query = { q: words.join(' '), in: part, op_type, category, kind, source, limit: SEARCH_PAGE, cursor: pageParam };
      return api.search(job, query, signal);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.next_cursor === '' ? null : page.next_cursor),
    enabled: enabled && text !== '',
    placeholderData: keepPreviousData,
  });
}

export function useTensors(job: string, node: string | null, rank: number, version: string) {
  const now = useJob(({ model }) => model.info?.step ?? 0);
  const step = recordedStep(job, now);
  return useQuery({
    queryKey: ['tensors', job, node, rank, version, step],
    queryFn: ({ signal }) => api.tensors(job, node ?? '', rank, step, signal),
    enabled: node !== null,
    placeholderData: (previous) => (previous?.node === node ? previous : undefined),
    select: (answer) => answer.tensors,
  });
}

export interface ValueQuery {
  job: string;
  name: string;
  rank: number;
  step: string | null;
  slice: string;
  // The page transposes the slice; the server does not support it.
  transposed: boolean;
  // Changes when the job stops somewhere else.
  version: string;
  enabled: boolean;
}

// Slices are large, so those that are not shown are released early.
const KEEP_SLICES_MS = 15_000;

const identity = (value: TensorSlice) => value;

function transposeSlice(value: TensorSlice): TensorSlice {
  const elements = value.elements && transposeElements(value.elements, value.shape);
  return { ...value, elements, shape: value.shape.toReversed(), transposed: true };
}

export function sliceOptions({ job, name, rank, step, slice, version }: Omit<ValueQuery, 'transposed' | 'enabled'>) {
  return queryOptions({
    queryKey: ['slice', job, name, rank, step, slice, version],
    queryFn: ({ signal }) => api.slice(job, { name, rank, step, slice }, signal),
    gcTime: KEEP_SLICES_MS,
    structuralSharing: false,
  });
}

export function useSlice(query: ValueQuery) {
  const { name, transposed, enabled } = query;
  return useQuery({
    ...sliceOptions(query),
    enabled,
    placeholderData: (previous) => (previous?.name === name ? previous : undefined),
    select: transposed ? transposeSlice : identity,
  });
}

export function useStatistics(query: Omit<ValueQuery, 'slice' | 'transposed'>) {
  const { job, name, rank, step, version, enabled } = query;
  return useQuery({
    queryKey: ['statistics', job, name, rank, step, version],
    queryFn: ({ signal }) => api.statistics(job, { name, rank, step }, signal),
    enabled,
  });
}

export function useHistogram(query: ValueQuery, bins: number) {
  const { job, name, rank, step, slice, version, enabled } = query;
  return useQuery({
    queryKey: ['histogram', job, name, rank, step, slice, bins, version],
    queryFn: ({ signal }) => api.histogram(job, { name, rank, step, slice, bins }, signal),
    enabled,
    placeholderData: keepPreviousData,
  });
}

export function useHistory(job: string, name: string, rank: number, version: string, enabled = true) {
  return useQuery({
    queryKey: ['history', job, name, rank, version],
    queryFn: ({ signal }) => api.history(job, name, rank, signal),
    enabled,
    placeholderData: (previous) => (previous?.name === name ? previous : undefined),
  });
}

export interface Tolerance {
  rtol: number;
  atol: number;
}

// Bins of the histograms of both sides.
const COMPARED_BINS = 64;
// The first elements that are not close.
const LISTED_ELEMENTS = 100;

export function useComparison(query: ValueQuery, against: string, { rtol, atol }: Tolerance) {
  const { job, name, rank, step, slice, version, enabled } = query;
  return useQuery({
    queryKey: ['compare', job, name, rank, step, slice, against, rtol, atol, version],
    queryFn: ({ signal }) =>
      api.compare(job, { name, rank, step, slice, with: against, rtol, atol, bins: COMPARED_BINS, list: LISTED_ELEMENTS }, signal),
    enabled,
  });
}

// A picture of a slice of any size; of the difference to another tensor if `against` names one.
export function useTensorMap(query: ValueQuery, of: MapRequest['of'], against: string | null = null) {
  const { job, name, rank, step, slice, version, enabled } = query;
  return useQuery({
    queryKey: ['map', job, name, rank, step, slice, of, against, version],
    queryFn: ({ signal }) => api.map(job, { name, rank, step, slice, of, with: against }, signal),
    enabled,
    gcTime: KEEP_SLICES_MS,
    structuralSharing: false,
  });
}

// Where a run diverges from another one or from another rank, RUN:RANK; null requests nothing.
export function useDivergence(run: string, rank: number, other: string | null, terms: string | null, version: string) {
  return useQuery({
    queryKey: ['divergence', run, rank, other, terms, version],
    queryFn: ({ signal }) => api.divergence(run, rank, other ?? '', Object.fromEntries(new URLSearchParams(terms ?? '')), signal),
    enabled: other !== null,
  });
}

// The neighbourhood of a node of a recorded run in a step. Null requests nothing.
export function useNeighboursInRun(place: { run: string; rank: number; step: number; node: string } | null, depth: number) {
  return useQuery({
    queryKey: ['neighbours in run', place, depth],
    queryFn: async ({ signal }) => {
      const { run, rank, step, node } = place as NonNullable<typeof place>;
      return { step, around: await api.neighbours(run, node, depth, rank, String(step), signal) };
    },
    enabled: place !== null,
    placeholderData: keepPreviousData,
  });
}

export function useRuns() {
  return useQuery({ queryKey: ['runs'], queryFn: ({ signal }) => api.runs(signal), staleTime: 0 });
}

// The number of nodes that a watchpoint would cover.
export function useNodePreview(job: string, selection: WatchpointSelection | null) {
  const version = useJob(({ model }) => model.graph_version);
  return useQuery({
    queryKey: ['preview', job, JSON.stringify(selection), version],
    queryFn: ({ signal }) => api.previewWatchpoint(job, selection as WatchpointSelection, signal),
    enabled: selection !== null,
    placeholderData: keepPreviousData,
  });
}

// Further lines are shown without their code.
const MAX_LINES = 80;

// The latest steps say how long a step is now.
const TIMED_STEPS = 20;
const STEP_TIME_MS = 10_000;

// The usual time of a step of a job, in seconds; null if it is not known.
export function useStepSeconds(job: string, rank: number): number | null {
  const { data } = useQuery({
    queryKey: ['step time', job, rank],
    queryFn: ({ signal }) => {
      const last = useJob.getState().model.info?.step ?? 0;
      return api.overview(job, rank, Math.max(0, last - TIMED_STEPS), signal);
    },
    select: ({ steps }) => usualStepSeconds(steps),
    staleTime: STEP_TIME_MS,
  });
  return data ?? null;
}

// The code of source lines by "FILE:LINE", where known. The server sends it with the nodes.
export function useCode(job: string, places: readonly string[]): ReadonlyMap<string, string> {
  return useQueries({
    queries: places.slice(0, MAX_LINES).map((source) => ({
      queryKey: ['code', job, source],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const query = { q: '', in: null, op_type: null, category: null, kind: null, source, limit: 1, cursor: null };
        const { nodes } = await api.search(job, query, signal);
        return { source, text: nodes[0]?.match?.text ?? '' };
      },
    })),
    combine: readCode,
  });
}

function readCode(answers: ReadonlyArray<{ data: { source: string; text: string } | undefined }>) {
  const code = new Map<string, string>();
  for (const { data } of answers) if (data !== undefined && data.text !== '') code.set(data.source, data.text);
  return code;
}

// Nodes created by a source line.
export function useNodesOfLine(job: string, source: string | null, graphVersion: number) {
  return useQuery({
    queryKey: ['line', job, source, graphVersion],
    queryFn: ({ signal }) => api.nodesOfLine(job, source ?? '', signal),
    enabled: source !== null,
    placeholderData: keepPreviousData,
  });
}

// The newest entries of the audit log, and older ones page by page. They are never out of date
// enough to be replaced while the user reads.
export function useAudit() {
  return useInfiniteQuery({
    queryKey: ['audit'],
    queryFn: ({ signal, pageParam }) => api.audit(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor || null,
    // Opening the view again shows what has happened since.
    gcTime: 0,
  });
}
