// Values of the HTTP API. Most are aliases of the types that `tools/dev types` generates
// from proto/http/openapi.yaml; the others are what the page derives from them.

import type { Elements } from '../base/elements';
import type { components, operations } from './openapi';

type Schemas = components['schemas'];

export type Job = Schemas['Job'];
// An operation that a job may allow a server.
export type Allowance = NonNullable<Job['allowed']>[number];
export type Controller = Schemas['Controller'];
export type JobState = Schemas['JobState'];
export type PauseReason = NonNullable<Job['pause_reason']>;
export type Rank = Schemas['Rank'];
export type Storage = Schemas['Storage'];
export type ServerInfo = Schemas['Server'];

export type Role = Schemas['Role'];
// Each role includes those before it.
export const ROLES: readonly Role[] = ['view', 'control', 'admin'];
export type Session = Schemas['Session'];

export type AuditEntry = Schemas['AuditEntry'];

export interface AuditPage {
  entries: AuditEntry[];
  next_cursor: string | null;
}

export type Advice = Schemas['Advice'];
export type Category = Schemas['Category'];
export type NodeKind = Schemas['NodeKind'];
export type Output = Schemas['Output'];
export type NodeDetail = Schemas['NodeDetail'];
// A source line. The graph index contains only `file` and `line`.
export type SourceLine = Pick<Schemas['Frame'], 'file' | 'line'> & Partial<Schemas['Frame']>;
export type GraphEdge = Schemas['Edge'];
export type GraphSummary = Schemas['Graph'];

// Text drawn at the start of an output's edges.
export interface EdgeNote {
  text: string;
  alarm: boolean;
}

// A node of a view: sent by the server, or built from the graph index, which has no steps.
export type GraphNode = Omit<Schemas['Node'], 'order' | 'first_step' | 'last_step' | 'source'> & {
  source: SourceLine | null;
  // In results of a search: the frame of the stack by which the node was found.
  match?: SourceLine;
  // One per output with known statistics; only in a neighbourhood.
  notes?: EdgeNote[];
  // In the graph of a model: what the box shows instead of label and output, its attributes in short,
  // and the op whose box contains this weight.
  title?: string;
  detail?: string;
  attributes?: string;
  inside?: string;
};

export type ScopeView = Omit<Schemas['Scope'], 'nodes'> & { nodes: GraphNode[] };

export type Overview = Schemas['Overview'];
export type OverviewStep = Overview['steps'][number];
export type OverviewMeasure = operations['getOverviewValues']['parameters']['query']['measure'];
export type OverviewModule = Schemas['OverviewModule'];
export type OverviewOps = Schemas['OverviewOps'];
export type OverviewPoint = OverviewModule['points'][number];

// The parts of an exported graph that the page reads.
export interface ExportedGraph {
  nodes: Array<{ name: string; op_type: string; attributes: Record<string, unknown> }>;
}

export type Neighbours = Schemas['Neighbours'];

export interface SearchPage {
  nodes: Schemas['FoundNode'][];
  next_cursor: string | null;
}

export type Condition = Schemas['Condition'];
export type ConditionParam = Condition['params'][number];
export type ParamValue = Schemas['Params'][string];

// A name that expressions may use.
export interface Measure {
  name: string;
  title: string;
}

export interface Conditions {
  conditions: Condition[];
  measures: Measure[];
}

export type Watchpoint = Schemas['Watchpoint'];

// Fields of a watchpoint that it need not have.
type WatchpointOptions =
  | 'once' | 'ignore_count' | 'muted_until_step' | 'group' | 'actions'
  | 'regexes' | 'op_types' | 'sources' | 'dtypes' | 'ranks' | 'exclude';
// A watchpoint without what the server adds to it.
export type WatchpointSpec = Omit<Watchpoint, 'id' | 'node_count' | 'hit_count' | 'error' | WatchpointOptions> &
  Partial<Pick<Watchpoint, WatchpointOptions>>;
export type PauseMode = WatchpointSpec['pause'];

// Determines which nodes a watchpoint covers. The condition counts because it may apply to
// tensors of one category only.
export type WatchpointSelection = WatchLists & { condition: { id: string } };
export type WatchLists = Pick<
  WatchpointSpec,
  'nodes' | 'scopes' | 'patterns' | 'categories' | 'regexes' | 'op_types' | 'sources' | 'dtypes' | 'ranks' | 'exclude'
>;
export type NodeLists = Schemas['NodeLists'];
export type SelectionPreview = Schemas['SelectionPreview'];

export type Hit = Schemas['Hit'];
export type Diagnosis = Schemas['Diagnosis'];
export type WhatIf = Schemas['WhatIf'];
export type ChangeRequest = Schemas['ChangeRequest'];
export type Training = Schemas['Training'];
export type EvidenceLink = Schemas['EvidenceLink'];
export type Incident = Schemas['Incident'];

export interface IncidentsPage {
  incidents: Incident[];
  // How many there are; the list may have fewer.
  total: number;
}

export interface HitsPage {
  hits: Hit[];
  next_cursor: string | null;
}

export type Run = Schemas['Run'];
export type LastOp = Schemas['LastOp'];
export type UserChange = Schemas['UserChange'];
export type Recording = Schemas['Recording'];
export type RecordingRequest = operations['setRecording']['requestBody']['content']['application/json'];
export type RankRecording = Recording['ranks'][number];
export type RecordedStep = Schemas['RecordedStep'];
export type Collection = Schemas['Collection'];
export type CheckReport = Schemas['Check'];
export type CheckHit = CheckReport['hits'][number];

export type Divergence = Schemas['Divergence'];
export type Difference = Schemas['Difference'];
export type ComparedInput = Difference['inputs'][number];
export type CallDifference = Difference['calls'][number];
export type Renaming = Divergence['renamings'][number];

export interface CheckRequest {
  watchpoint: WatchpointSpec;
}

export type Statistics = Schemas['Statistics'];
export type TensorSummary = Schemas['TensorSummary'];
export type Histogram = Schemas['Histogram'];
// A recorded run's has buckets of consecutive steps if there are too many for one plot.
export type TensorHistory = Schemas['TensorHistory'] & Partial<Schemas['RunTensorHistory']>;
export type StatisticsPoint = Schemas['StatisticsPoint'];
export type Comparison = Schemas['Comparison'];
export type ComparedPair = Schemas['ComparedPair'];
export type HistogramCounts = Schemas['HistogramCounts'];
export type Finding = Schemas['Finding'];

export type TensorStatistics = Schemas['TensorHead'] &
  Pick<Schemas['Tensor'], 'overwritten' | 'grad_scale'> & { statistics: Statistics };

// A slice of a tensor, received in binary.
export interface TensorSlice extends Pick<Schemas['Tensor'], 'name' | 'step' | 'slice' | 'overwritten' | 'grad_scale' | 'dtype'> {
  // The shape of the slice.
  shape: number[];
  // Null for a dtype that the page cannot read.
  elements: Elements | null;
  // The page has transposed the slice.
  transposed?: boolean;
  // When the last byte arrived, in ms since navigation.
  received_at: number;
}

type Event = Schemas['Event'];
type EventBase = Pick<Event, 'seq' | 'job' | 'rank' | 'time'>;
export type Command = NonNullable<Event['command']>;
export type ControlCommand = Schemas['Control']['command'];

// The API describes one event with all fields; this union has the fields of each type.
export type ServerEvent = EventBase &
  (
    | ({ type: 'job' | 'state'; info: Job | null } & Pick<Event, 'command_id' | 'error'>)
    | { type: 'graph'; node_count: number }
    | { type: 'hit'; hit: Hit }
    | { type: 'finding'; finding: Finding }
    | { type: 'watchpoint'; watchpoint: Watchpoint | null; id?: number }
    | { type: 'log'; level: NonNullable<Event['level']>; message: string }
    | { type: 'command'; command_id: string; command: Command }
    | { type: 'tensor' }
    | { type: 'server'; storage?: Storage | null }
    | { type: 'snapshot'; info: Job | null; watchpoints: Watchpoint[]; hits: Hit[] }
  );
